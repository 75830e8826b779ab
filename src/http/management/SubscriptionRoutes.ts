import { Effect, Schema } from "effect"
import type { Hub, ListedSubscription } from "#actors/operations/Hub.ts"
import { listSubscriptionPage } from "#actors/operations/SubscriptionPage.ts"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import { diagnose } from "#domain/delivery/Diagnosis.ts"
import { maxLabelLength, maxLabels } from "#domain/Labels.ts"
import * as Search from "#domain/Search.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { makeCursor } from "./Cursor.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

const group = "Subscriptions"

const input = Schema.Struct(Field.subscriptionName)

const output = Schema.Struct({
  subscription: Schema.Int,
  state: Schema.Literals(["pending", "active", "paused"])
})

const outputOf = ({ id, state }: Subscription) => ({ subscription: id, state })

const pause = makeRoute({
  method: "POST",
  path: "/api/pause",
  right: "subscribe",
  group,
  summary: "Pauses a webhook: nothing is sent, and its notifications are kept as dropped ones until a recovery",
  input,
  output,
  run: (name, { caller }) =>
    Effect.map(SubscriptionControl.use((control) => control.pause({ caller, ...name })), outputOf)
})

const resume = makeRoute({
  method: "POST",
  path: "/api/resume",
  right: "subscribe",
  group,
  summary: "Resumes a paused or failing subscription: its waiting notifications are tried at once",
  input,
  output,
  run: (name, { caller }) =>
    Effect.map(SubscriptionControl.use((control) => control.resume({ caller, ...name })), outputOf)
})

const label = makeRoute({
  method: "POST",
  path: "/api/labels",
  right: "subscribe",
  group,
  summary: "Replaces the labels of a subscription",
  input: Schema.Struct({
    ...Field.subscriptionName,
    labels: Schema.Array(Field.text(maxLabelLength, "A label.")).check(Schema.isMaxLength(maxLabels)).annotate({
      description: "All labels of the subscription, in order; an empty list removes them.",
      expected: `a list of at most ${maxLabels} labels`
    })
  }),
  output: Schema.Struct({ subscription: Schema.Int, labels: Schema.Array(Schema.String) }),
  run: (input, { caller }) =>
    Effect.map(
      SubscriptionControl.use((control) => control.setLabels({ caller, ...input })),
      ({ id, labels = [] }) => ({ subscription: id, labels })
    )
})

const subscriptionsCursor = makeCursor("subscriptions", Field.integer(1, Number.MAX_SAFE_INTEGER, ""))

const subscriptions = makeRoute({
  method: "GET",
  path: "/api/subscriptions",
  right: "list",
  group,
  summary: "Lists your subscriptions, newest first, with the cause of missing notifications",
  input: Schema.Struct({ search: Field.search, limit: Field.limit, cursor: Field.cursor }),
  output: Schema.Struct({
    subscriptions: Schema.Array(Schema.Struct({
      subscription: Schema.Int,
      topic: Schema.String,
      callback: Schema.String.annotate({ description: "The JID of a subscription by XMPP." }),
      channel: Schema.Literals(["webhook", "xmpp", "null"]),
      state: Schema.Literals(["pending", "active", "paused"]),
      resource: Schema.Int,
      sequence: Schema.Int.annotate({ description: "Of the last notification." }),
      waiting: Schema.Int.annotate({ description: "Counted up to 1,000." }),
      dropped: Schema.Int.annotate({ description: "Counted up to 1,000." }),
      failingSince: Field.optional(Field.time),
      nextTry: Field.optional(Field.time),
      lastSuccess: Field.optional(Field.time),
      diagnosis: Schema.String.annotate({ description: "A sentence that tells why notifications are missing." })
    })),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(function*({ cursor, limit = Field.defaultLimit, search }, { caller }) {
    const after = yield* subscriptionsCursor.parse(cursor)
    const parsed = search === undefined ? undefined : yield* Effect.fromResult(Search.parseLine(search, "search"))
    const { next, rows } = yield* listSubscriptionPage({ caller, search: parsed, after, limit })
    return {
      subscriptions: rows.map(subscriptionJson),
      ...(next !== undefined && { next: subscriptionsCursor.format(next) })
    }
  })
})

const subscriptionJson = (item: ListedSubscription) => {
  const { deliveries, lastSequence = 0, lastSuccessAt, nextTryAt, subscription } = item
  const { channel, endpoint, failing, id, resourceId, state, topic } = subscription
  return {
    subscription: id,
    topic,
    callback: endpoint,
    channel,
    state,
    resource: resourceId,
    sequence: lastSequence,
    waiting: deliveries?.waiting ?? 0,
    dropped: deliveries?.dropped ?? 0,
    ...(failing !== undefined && { failingSince: Field.formatTime(failing.since) }),
    ...(nextTryAt !== undefined && { nextTry: Field.formatTime(nextTryAt) }),
    ...(lastSuccessAt !== undefined && { lastSuccess: Field.formatTime(lastSuccessAt) }),
    diagnosis: diagnose(item).sentence
  }
}

export const subscriptionRoutes: ReadonlyArray<ManagementRoute<Hub | SubscriptionControl>> = [
  subscriptions,
  pause,
  resume,
  label
]
