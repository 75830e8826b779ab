import { Config, Console, Effect, Option, Schedule, Schema, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Sse } from "effect/encoding"
import { randomUUID } from "node:crypto"
import { request } from "undici"
import { whileRead } from "./Output.ts"

/** The service did not do it; `message` is its own sentence, or why it was not reached. */
export class RemoteError extends Schema.TaggedError<RemoteError>()("RemoteError", { message: Schema.String }) {}

const service = {
  url: Flag.String("url").pipe(
    Flag.withDescription("Where the service answers (default: http://localhost:8080); also WINDHOVER_URL"),
    Flag.withFallbackConfig(Config.String("WINDHOVER_URL").pipe(Config.withDefault("http://localhost:8080"))),
    Flag.filter(
      (url) => /^https?:\/\//i.test(url) && URL.canParse(url),
      () => "an http(s) URL, such as http://localhost:8080"
    )
  ),
  login: Flag.String("login").pipe(
    Flag.withDescription("Login of the account (default: admin); also WINDHOVER_LOGIN"),
    Flag.withFallbackConfig(Config.String("WINDHOVER_LOGIN").pipe(Config.withDefault("admin")))
  ),
  token: Flag.String("token").pipe(
    Flag.withDescription("Token or password of the account; better as WINDHOVER_TOKEN, out of the shell's history"),
    Flag.withFallbackConfig(Config.String("WINDHOVER_TOKEN"))
  )
}

interface Service {
  readonly url: string
  readonly login: string
  readonly token: string
}

/** One call of the API; its text when the answer is a success. */
const call = Effect.fnUntraced(function*(service: Service, method: "GET" | "POST", parameters: Record<string, string>) {
  const form = new URLSearchParams(parameters)
  const base = `${service.url.replace(/\/+$/, "")}/`
  const answer = yield* Effect.tryPromise({
    try: async (signal) => {
      const response = await request(method === "GET" ? `${base}?${form}` : base, {
        method,
        signal,
        headers: {
          authorization: `Basic ${Buffer.from(`${service.login}:${service.token}`).toString("base64")}`,
          // on a subscribe it would choose the format of the notifications
          ...(method === "GET"
            ? { accept: "application/json" }
            : { "content-type": "application/x-www-form-urlencoded" })
        },
        ...(method === "POST" ? { body: form.toString() } : {})
      })
      return { status: response.statusCode, text: await response.body.text() }
    },
    catch: () => new RemoteError({ message: `Windhover does not answer at ${base}. Is it running? --url says where.` })
  })
  return answer.status < 300 ? answer.text : yield* new RemoteError({ message: `${answer.status}: ${answer.text}` })
})

const topic = Argument.String("topic").pipe(Argument.withDescription("URL of the feed or other resource"))
const format = Flag.Literals("format", ["atom", "json"]).pipe(
  Flag.withDescription("Of the notifications"),
  Flag.optional
)

export const subscribe = Command.make(
  "subscribe",
  {
    ...service,
    topic,
    callback: Argument.String("callback").pipe(Argument.withDescription("URL that notifications are posted to")),
    format,
    secret: Flag.String("secret").pipe(Flag.withDescription("Signs the notifications"), Flag.optional)
  },
  Effect.fnUntraced(function*({ callback, format, secret, topic, ...service }) {
    yield* call(service, "POST", {
      "hub.mode": "subscribe",
      "hub.topic": topic,
      "hub.callback": callback,
      ...(Option.isSome(format) ? { format: format.value } : {}),
      ...(Option.isSome(secret) ? { "hub.secret": secret.value } : {})
    })
    yield* Console.log(`${callback} is subscribed to ${topic}.`)
  })
).pipe(Command.withDescription("Subscribe a webhook to a topic"))

export const unsubscribe = Command.make(
  "unsubscribe",
  {
    ...service,
    topic,
    callback: Argument.String("callback").pipe(
      Argument.withDescription("Needed when the topic has several subscriptions"),
      Argument.optional
    )
  },
  Effect.fnUntraced(function*({ callback, topic, ...service }) {
    yield* call(service, "POST", {
      "hub.mode": "unsubscribe",
      "hub.topic": topic,
      ...(Option.isSome(callback) ? { "hub.callback": callback.value } : {})
    })
    yield* Console.log(`The subscription to ${topic} is ended.`)
  })
).pipe(Command.withDescription("End a subscription"))

const Subscriptions = Schema.fromJsonString(Schema.Struct({
  subscriptions: Schema.Array(Schema.Struct({
    subscription: Schema.Struct({
      endpoint: Schema.String,
      format: Schema.NullOr(Schema.String),
      feed: Schema.Struct({
        url: Schema.String,
        title: Schema.NullOr(Schema.String),
        status: Schema.Struct({
          code: Schema.optionalKey(Schema.Int),
          http: Schema.optionalKey(Schema.String)
        })
      }),
      deliveries: Schema.Struct({ waiting: Schema.Int, dropped: Schema.Int })
    })
  }))
}))

/** A subscription in two lines, and one more each when its resource fails, and when deliveries wait or were given up. */
const described = (
  { subscription: { deliveries, endpoint, feed, format } }: typeof Subscriptions.Type["subscriptions"][number]
) => {
  const { dropped, waiting } = deliveries
  const troubles = [waiting > 0 ? `${waiting} waiting` : "", dropped > 0 ? `${dropped} dropped` : ""].filter((part) =>
    part !== ""
  )
  return [
    feed.url,
    `  -> ${endpoint} (${format ?? "as pulled"}) ${feed.title ?? ""}`.trimEnd(),
    ...(fails(feed.status) ? [`     the last fetch failed: ${feed.status.http}`] : []),
    ...(troubles.length === 0 ? [] : [`     deliveries: ${troubles.join(", ")}`])
  ].join("\n")
}

/** 0: there was no answer. */
const fails = ({ code, http }: { readonly code?: number; readonly http?: string }): boolean =>
  http !== undefined && code !== undefined && (code === 0 || code >= 400)

const unexpected = () =>
  new RemoteError({ message: "The answer is not one of Windhover's: does --url name another service?" })

export const list = Command.make(
  "list",
  {
    ...service,
    page: Flag.Int("page").pipe(Flag.withDefault(1), Flag.withDescription("100 subscriptions a page, counted from 1"))
  },
  Effect.fnUntraced(function*({ page, ...service }) {
    const text = yield* call(service, "GET", {
      "hub.mode": "list",
      page: String(page),
      by_page: "100",
      detailed: "true"
    })
    const { subscriptions } = yield* Effect.mapError(Schema.decodeEffect(Subscriptions)(text), unexpected)
    for (const subscription of subscriptions) yield* Console.log(described(subscription))
    if (subscriptions.length === 0) {
      yield* Console.log(page === 1 ? "There are no subscriptions." : "No more subscriptions.")
    }
  })
).pipe(
  Command.withDescription("List the subscriptions of the account, and which of their deliveries wait or were given up")
)

const Item = Schema.Struct({
  id: Schema.String,
  title: Schema.optionalKey(Schema.NullOr(Schema.String)),
  permalinkUrl: Schema.optionalKey(Schema.NullOr(Schema.String)),
  published: Schema.optionalKey(Schema.NullOr(Schema.Finite))
})
type Item = typeof Item.Type

const Told = Schema.fromJsonString(Schema.Struct({
  status: Schema.Struct({ http: Schema.optionalKey(Schema.NullOr(Schema.String)) }),
  /** Absent when the resource has failed. */
  items: Schema.optionalKey(Schema.Array(Item))
}))

/** What came was no success; the service can be asked again when it is only away. */
interface Refused {
  readonly status: number
  readonly message: string
}

/** Heartbeats come every 15 s: after so many ms of silence the connection is dead. */
const silence = 60_000

/** Opens the stream behind an event. */
const openStream = (service: Service, topic: string, lastEventId: string | undefined, signal: AbortSignal) => {
  const query = new URLSearchParams({ "hub.mode": "retrieve", "hub.topic": topic, format: "json", count: "5" })
  return request(`${service.url.replace(/\/+$/, "")}/stream?${query}`, {
    signal,
    bodyTimeout: silence,
    headers: {
      authorization: `Basic ${Buffer.from(`${service.login}:${service.token}`).toString("base64")}`,
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId })
    }
  })
}

/** Prints what a topic tells, for ever: when the stream breaks it is resumed, so that nothing is left out and nothing comes twice. */
const follow = Effect.fnUntraced(function*(service: Service, topic: string, renew: Effect.Effect<void>) {
  let lastEventId: string | undefined
  const lost = (): Refused => ({ status: 0, message: "The connection was lost." })
  const listen = Effect.gen(function*() {
    const { body, statusCode } = yield* Effect.tryPromise({
      try: (signal) => openStream(service, topic, lastEventId, signal),
      catch: lost
    })
    if (statusCode !== 200) {
      const message = yield* Effect.tryPromise({ try: () => body.text(), catch: lost })
      return yield* Effect.fail<Refused>({ status: statusCode, message })
    }
    yield* Stream.fromAsyncIterable(body as AsyncIterable<Uint8Array>, lost).pipe(
      Stream.decodeText(),
      Stream.pipeThroughChannel(Sse.decode<Refused, unknown>({ maxEventSize: Infinity })),
      Stream.runForEach((event) =>
        Effect.tap(told(event), () =>
          Effect.sync(() => {
            lastEventId = event.id ?? lastEventId
          }))
      ),
      Effect.mapError((error) => "status" in error ? error : lost())
    )
  })
  let broken = false
  const again = Effect.suspend(() => broken ? Effect.andThen(renew, listen) : listen).pipe(
    Effect.ensuring(Effect.sync(() => broken = true))
  )
  yield* again.pipe(
    Effect.catchIf(({ status }) => status === 0 || status === 429 || status >= 500, () => Effect.void),
    Effect.mapError(({ message, status }) => new RemoteError({ message: `${status}: ${message}` })),
    Effect.repeat(Schedule.spaced("2 seconds"))
  )
})

/** Prints an event: the entries, oldest first; why a resource failed; a document as it is. */
const told = Effect.fnUntraced(function*({ data, event }: Sse.Event) {
  if (event === "gap") {
    return yield* Console.error("Some notifications came while nobody listened, and are not kept any more.")
  }
  const news = Schema.decodeOption(Told)(data)
  if (Option.isNone(news)) return yield* Console.log(data)
  const { items, status } = news.value
  if (items === undefined) return yield* Console.log(`The resource fails: ${status.http ?? "no reason is given"}`)
  for (const item of items.toReversed()) yield* Console.log(line(item))
})

/**
 * A tail that was killed says nothing to the service: its subscription ends by itself after so many seconds. It is renewed several times before, and
 * when the stream has broken.
 */
const tailLease = 3_600
const renewal = "10 minutes"

export const tail = Command.make(
  "tail",
  { ...service, topic },
  Effect.fnUntraced(
    function*({ topic, ...service }) {
      // one of its own: what the account itself has subscribed to the null device, and what another tail has, is left alone
      const callback = `${service.url.replace(/\/+$/, "")}/dev/null?tail=${randomUUID()}&lease=${tailLease}`
      const wanted = { "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback, format: "json" }
      const renew = Effect.ignore(call(service, "POST", wanted))
      yield* Effect.acquireRelease(
        call(service, "POST", { ...wanted, retrieve: "true" }),
        () =>
          Effect.ignore(call(service, "POST", {
            "hub.mode": "unsubscribe",
            "hub.topic": topic,
            "hub.callback": callback
          }))
      )
      yield* Effect.forkScoped(Effect.repeat(Effect.delay(renew, renewal), Schedule.forever))
      yield* follow(service, topic, renew)
    },
    whileRead,
    Effect.scoped
  )
).pipe(
  Command.withDescription(
    "Follow the new entries of a topic (through a subscription to the null device that lasts as long as the command)"
  )
)

const line = ({ id, permalinkUrl, published, title }: Item) =>
  [
    published === undefined || published === null ? "" : new Date(published * 1000).toISOString(),
    title ?? id,
    permalinkUrl ?? ""
  ].filter((part) => part !== "").join("  ")
