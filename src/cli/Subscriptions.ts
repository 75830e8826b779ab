import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { toPrintableField } from "#domain/ControlCharacters.ts"
import { maxLabels } from "#domain/Labels.ts"
import { callApi, callManagementApi, decodeAnswer, givenFlags, otherService, serviceFlags } from "./RemoteService.ts"
import { print } from "./Output.ts"

const topic = Argument.String("topic").pipe(Argument.withDescription("URL of the feed or other resource"))

export const subscribe = Command.make(
  "subscribe",
  {
    ...serviceFlags,
    topic,
    callback: Argument.String("callback").pipe(Argument.withDescription("URL that gets the notifications by POST")),
    format: Flag.Literals("format", ["atom", "json"]).pipe(
      Flag.withDescription("Format of the notifications"),
      Flag.optional
    ),
    secret: Flag.String("secret").pipe(Flag.withDescription("Secret that signs the notifications"), Flag.optional),
    labels: Flag.String("label").pipe(
      Flag.withDescription("Label of the subscription. Repeat the flag for several labels"),
      Flag.between(0, maxLabels)
    )
  },
  Effect.fnUntraced(function*({ callback, format, labels, secret, topic, ...service }) {
    yield* callApi(service, "POST", {
      "hub.mode": "subscribe",
      "hub.topic": topic,
      "hub.callback": callback,
      ...Object.fromEntries(labels.map((label, index) => [`hub.label[${index}]`, label])),
      ...(Option.isSome(format) ? { format: format.value } : {}),
      ...(Option.isSome(secret) ? { "hub.secret": secret.value } : {})
    })
    yield* print(`${callback} is subscribed to ${topic}.`)
  })
).pipe(Command.withDescription("Subscribe a webhook to a topic"))

export const unsubscribe = Command.make(
  "unsubscribe",
  {
    ...serviceFlags,
    topic,
    callback: Argument.String("callback").pipe(
      Argument.withDescription("URL of the webhook. Required when the topic has several subscriptions"),
      Argument.optional
    )
  },
  Effect.fnUntraced(function*({ callback, topic, ...service }) {
    yield* callApi(service, "POST", {
      "hub.mode": "unsubscribe",
      "hub.topic": topic,
      ...(Option.isSome(callback) ? { "hub.callback": callback.value } : {})
    })
    yield* print(`The subscription to ${topic} is ended.`)
  })
).pipe(Command.withDescription("End a subscription"))

const RotatedSecret = Schema.Struct({
  secret: Schema.optionalKey(Schema.String),
  previousUntil: Schema.optionalKey(Schema.String)
})

export const rotateSecret = Command.make(
  "rotate-secret",
  {
    ...serviceFlags,
    topic,
    callback: Argument.String("callback").pipe(Argument.withDescription("URL of the webhook")),
    secret: Flag.String("secret").pipe(
      Flag.withDescription("The new secret; without it, Windhover makes one and prints it once"),
      Flag.optional
    ),
    grace: Flag.Int("grace").pipe(
      Flag.withDescription("Seconds for which the old secret signs beside the new one; a day by default"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function*({ callback, grace, secret, topic, ...service }) {
    const rotated = yield* callManagementApi(service, "POST", "/api/rotate-secret", {
      topic,
      callback,
      ...givenFlags({ secret, grace })
    }).pipe(Effect.flatMap(decodeAnswer(RotatedSecret)))
    if (rotated.secret !== undefined) yield* print(`New secret: ${rotated.secret}`)
    yield* print(
      rotated.previousUntil === undefined
        ? "The new secret alone signs from now on."
        : `The old secret signs beside the new one until ${rotated.previousUntil}.`
    )
  })
).pipe(Command.withDescription("Replace the secret of a subscription, with a time in which both secrets sign"))

const SubscriptionList = Schema.fromJsonString(Schema.Struct({
  subscriptions: Schema.Array(Schema.Struct({
    subscription: Schema.Struct({
      id: Schema.optionalKey(Schema.Int),
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
      deliveries: Schema.Struct({ waiting: Schema.Int, dropped: Schema.Int }),
      labels: Schema.optionalKey(Schema.Array(Schema.String)),
      delivery: Schema.optionalKey(Schema.Struct({
        state: Schema.String,
        failing_since: Schema.optionalKey(Schema.Int)
      })),
      xmpp: Schema.optionalKey(Schema.Unknown)
    })
  }))
}))

/** Renders a subscription in two lines. A failing resource, a paused or failing callback, and waiting or dropped deliveries add a line each. */
const renderSubscription = (
  { subscription: { deliveries, delivery, endpoint, feed, format, id, labels = [], xmpp } }:
    typeof SubscriptionList.Type["subscriptions"][number]
) => {
  const { dropped, waiting } = deliveries
  const failingSince = delivery?.failing_since
  const problems = [waiting > 0 ? `${waiting} waiting` : "", dropped > 0 ? `${dropped} dropped` : ""].filter((part) =>
    part !== ""
  )
  return [
    id === undefined ? feed.url : `${feed.url} (subscription ${id})`,
    `  -> ${endpoint} (${format ?? "as pulled"}) ${feed.title ?? ""}`.trimEnd(),
    ...(labels.length === 0 ? [] : [`     labels: ${labels.join(", ")}`]),
    ...(isFailing(feed.status) ? [`     the last fetch failed: ${feed.status.http}`] : []),
    ...(delivery?.state === "paused" && xmpp === undefined
      ? [`     paused: windhover resume --subscription ${id}`]
      : []),
    ...(failingSince === undefined
      ? []
      : [`     failing since ${toTime(failingSince)}: windhover undelivered --subscription ${id}`]),
    ...(problems.length === 0 ? [] : [`     deliveries: ${problems.join(", ")}`])
  ].map(toPrintableField).join("\n")
}

const toTime = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19)

/** True for an error status, and for code 0, which means no answer. */
const isFailing = ({ code, http }: { readonly code?: number; readonly http?: string }): boolean =>
  http !== undefined && code !== undefined && (code === 0 || code >= 400)

export const list = Command.make(
  "list",
  {
    ...serviceFlags,
    page: Flag.Int("page").pipe(Flag.withDefault(1), Flag.withDescription("Page of 100 subscriptions, counted from 1")),
    label: Flag.String("label").pipe(Flag.withDescription("Only subscriptions with this label"), Flag.optional)
  },
  Effect.fnUntraced(function*({ label, page, ...service }) {
    const text = yield* callApi(service, "GET", {
      "hub.mode": "list",
      page: String(page),
      by_page: "100",
      detailed: "true",
      ...(Option.isSome(label) && { "search[label]": label.value })
    })
    const { subscriptions } = yield* Effect.mapError(Schema.decodeEffect(SubscriptionList)(text), otherService)
    for (const subscription of subscriptions) yield* print(renderSubscription(subscription))
    if (subscriptions.length === 0) {
      yield* print(page === 1 ? "There are no subscriptions." : "No more subscriptions.")
    }
  })
).pipe(
  Command.withDescription(
    "List the subscriptions of the account, with their ids, their waiting and dropped deliveries, and failing feeds and callbacks"
  )
)
