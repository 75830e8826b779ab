import { Effect, Option, Schedule, Schema, Stream } from "effect"
import { Argument, Command } from "effect/cli"
import { Sse } from "effect/encoding"
import { toPrintableField } from "#domain/ControlCharacters.ts"
import { randomUUID } from "node:crypto"
import { request } from "undici"
import { print, printError, stopWhenUnread } from "./Output.ts"
import {
  callApi,
  getAuthorization,
  getBaseUrl,
  RemoteError,
  type RemoteService,
  serviceFlags
} from "./RemoteService.ts"

const Item = Schema.Struct({
  id: Schema.String,
  title: Schema.optionalKey(Schema.NullOr(Schema.String)),
  permalinkUrl: Schema.optionalKey(Schema.NullOr(Schema.String)),
  published: Schema.optionalKey(Schema.NullOr(Schema.Finite))
})
type Item = typeof Item.Type

const StreamedNotification = Schema.fromJsonString(Schema.Struct({
  status: Schema.Struct({ http: Schema.optionalKey(Schema.NullOr(Schema.String)) }),
  /** Absent when the resource has failed. */
  items: Schema.optionalKey(Schema.Array(Item))
}))

/** Failed or broken stream. Status 0 stands for a lost connection. */
interface StreamFailure {
  readonly status: number
  readonly message: string
}

/** Time without a byte after which the connection is dead, in ms. Heartbeats arrive every 15 s. */
const idleTimeoutMs = 60_000

/** Opens the stream, after the event with the given id if there is one. */
const openStream = (service: RemoteService, topic: string, lastEventId: string | undefined, signal: AbortSignal) => {
  const query = new URLSearchParams({ "hub.mode": "retrieve", "hub.topic": topic, format: "json", count: "5" })
  return request(`${getBaseUrl(service)}/stream?${query}`, {
    signal,
    bodyTimeout: idleTimeoutMs,
    headers: {
      authorization: getAuthorization(service),
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId })
    }
  })
}

/** Prints the notifications of a topic for ever. Resumes a broken stream after its last event, without gaps or repetitions. */
const follow = Effect.fnUntraced(function*(service: RemoteService, topic: string, renew: Effect.Effect<void>) {
  let lastEventId: string | undefined
  const connectionLost = (): StreamFailure => ({ status: 0, message: "The connection was lost." })
  const listen = Effect.gen(function*() {
    const { body, statusCode } = yield* Effect.tryPromise({
      try: (signal) => openStream(service, topic, lastEventId, signal),
      catch: connectionLost
    })
    if (statusCode !== 200) {
      const message = yield* Effect.tryPromise({ try: () => body.text(), catch: connectionLost })
      return yield* Effect.fail<StreamFailure>({ status: statusCode, message })
    }
    yield* Stream.fromAsyncIterable(body as AsyncIterable<Uint8Array>, connectionLost).pipe(
      Stream.decodeText(),
      Stream.pipeThroughChannel(Sse.decode<StreamFailure, unknown>({ maxEventSize: Infinity })),
      Stream.runForEach((event) =>
        Effect.tap(printEvent(event), () =>
          Effect.sync(() => {
            lastEventId = event.id ?? lastEventId
          }))
      ),
      Effect.mapError((error) => "status" in error ? error : connectionLost())
    )
  })
  let wasOpened = false
  const reopen = Effect.suspend(() => wasOpened ? Effect.andThen(renew, listen) : listen).pipe(
    Effect.ensuring(Effect.sync(() => wasOpened = true))
  )
  yield* reopen.pipe(
    Effect.catchIf(({ status }) => status === 0 || status === 429 || status >= 500, () => Effect.void),
    Effect.mapError(({ message, status }) => new RemoteError({ message: `${status}: ${message}` })),
    Effect.repeat(Schedule.spaced("2 seconds"))
  )
})

/** Prints an event: its entries, oldest first, or the failure of the resource, or the document as it is. */
const printEvent = Effect.fnUntraced(function*({ data, event }: Sse.Event) {
  if (event === "gap") {
    return yield* printError(
      "Some notifications were published while this command was disconnected, and are no longer stored."
    )
  }
  const notification = Schema.decodeOption(StreamedNotification)(data)
  if (Option.isNone(notification)) return yield* print(data)
  const { items, status } = notification.value
  if (items === undefined) return yield* print(`The resource fails: ${status.http ?? "no reason is given"}`)
  for (const item of items.toReversed()) yield* print(renderItem(item))
})

/** Lease of the command's subscription, in seconds. After a kill of the command, the subscription ends with its lease. */
const leaseSeconds = 3_600

/** Interval of renewals. The subscription is also renewed when the stream has broken. */
const renewalInterval = "10 minutes"

export const tail = Command.make(
  "tail",
  {
    ...serviceFlags,
    topic: Argument.String("topic").pipe(Argument.withDescription("URL of the feed or other resource"))
  },
  Effect.fnUntraced(
    function*({ topic, ...service }) {
      // unique, so that other subscriptions of the account to the null device, and other tails, stay untouched
      const callback = `${getBaseUrl(service)}/dev/null?tail=${randomUUID()}&lease=${leaseSeconds}`
      const form = { "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback, format: "json" }
      const renew = Effect.ignore(callApi(service, "POST", form))
      yield* Effect.acquireRelease(
        callApi(service, "POST", { ...form, retrieve: "true" }),
        () =>
          Effect.ignore(callApi(service, "POST", {
            "hub.mode": "unsubscribe",
            "hub.topic": topic,
            "hub.callback": callback
          }))
      )
      yield* Effect.forkScoped(Effect.repeat(Effect.delay(renew, renewalInterval), Schedule.forever))
      yield* follow(service, topic, renew)
    },
    stopWhenUnread,
    Effect.scoped
  )
).pipe(
  Command.withDescription(
    "Print the new entries of a topic (subscribes the null device for as long as the command runs)"
  )
)

const renderItem = ({ id, permalinkUrl, published, title }: Item) =>
  [
    published === undefined || published === null ? "" : new Date(published * 1000).toISOString(),
    title ?? id,
    permalinkUrl ?? ""
  ].filter((part) => part !== "").map(toPrintableField).join("  ")
