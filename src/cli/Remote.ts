import { Config, Console, Effect, Option, Schedule, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { request } from "undici"

/** The service did not do it; `message` is its own sentence, or why it was not reached. */
export class RemoteError extends Schema.TaggedError<RemoteError>()("RemoteError", { message: Schema.String }) {}

const service = {
  url: Flag.String("url").pipe(
    Flag.withDescription("Where the service answers; also WINDHOVER_URL"),
    Flag.withFallbackConfig(Config.String("WINDHOVER_URL").pipe(Config.withDefault("http://localhost:8080")))
  ),
  login: Flag.String("login").pipe(
    Flag.withDescription("Login of the account; also WINDHOVER_LOGIN"),
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
      feed: Schema.Struct({ url: Schema.String, title: Schema.NullOr(Schema.String) }),
      deliveries: Schema.Struct({ waiting: Schema.Int, dropped: Schema.Int })
    })
  }))
}))

/** A subscription in two lines, or in three when deliveries wait or were given up. */
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
    ...(troubles.length === 0 ? [] : [`     deliveries: ${troubles.join(", ")}`])
  ].join("\n")
}

const unexpected = () =>
  new RemoteError({ message: "The answer is not one of Windhover's: does --url name another service?" })

export const list = Command.make(
  "list",
  { ...service, page: Flag.Int("page").pipe(Flag.withDefault(1), Flag.withDescription("100 subscriptions a page")) },
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

const Page = Schema.fromJsonString(Schema.Struct({
  items: Schema.Array(Schema.Struct({
    id: Schema.String,
    title: Schema.optionalKey(Schema.NullOr(Schema.String)),
    permalinkUrl: Schema.optionalKey(Schema.NullOr(Schema.String)),
    published: Schema.optionalKey(Schema.NullOr(Schema.Finite))
  }))
}))

export const tail = Command.make(
  "tail",
  { ...service, topic },
  Effect.fnUntraced(function*({ topic, ...service }) {
    yield* Effect.acquireRelease(
      call(service, "POST", {
        "hub.mode": "subscribe",
        "hub.topic": topic,
        "hub.callback": `${service.url.replace(/\/+$/, "")}/dev/null`,
        retrieve: "true",
        format: "json"
      }),
      () =>
        Effect.ignore(call(service, "POST", {
          "hub.mode": "unsubscribe",
          "hub.topic": topic,
          "hub.callback": `${service.url.replace(/\/+$/, "")}/dev/null`
        }))
    )
    const shown = new Set<string>()
    const look = Effect.gen(function*() {
      const text = yield* call(service, "GET", {
        "hub.mode": "retrieve",
        "hub.topic": topic,
        count: "50",
        format: "json"
      })
      const { items } = yield* Effect.mapError(Schema.decodeEffect(Page)(text), unexpected)
      const fresh = items.filter(({ id }) => !shown.has(id)).toReversed()
      for (const item of shown.size === 0 ? fresh.slice(-5) : fresh) yield* Console.log(line(item))
      for (const { id } of fresh) shown.add(id)
    })
    yield* Effect.repeat(look, Schedule.spaced("2 seconds"))
  }, Effect.scoped)
).pipe(
  Command.withDescription(
    "Follow the new entries of a topic (through a subscription to the null device that lasts as long as the command)"
  )
)

const line = ({ id, permalinkUrl, published, title }: typeof Page.Type["items"][number]) =>
  [
    published === undefined || published === null ? "" : new Date(published * 1000).toISOString(),
    title ?? id,
    permalinkUrl ?? ""
  ].filter((part) => part !== "").join("  ")
