import { Effect, Option, Schedule, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { toPrintableField } from "#domain/ControlCharacters.ts"
import { randomUUID } from "node:crypto"
import { print, printError, stopWhenUnread } from "./Output.ts"
import { callApi, getBaseUrl, serviceFlags } from "./RemoteService.ts"
import { followTopic, type TopicEvent } from "./TopicStream.ts"

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

/** Prints an event: its entries, oldest first, or the failure of the resource, or the document as it is. */
const printEvent = Effect.fnUntraced(function*({ data, event }: TopicEvent) {
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
      yield* followTopic({ service, topic, format: "json", pastEntries: 5, after: undefined, renew }, printEvent)
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
