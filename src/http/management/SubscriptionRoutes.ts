import { Effect, Schema } from "effect"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import { maxLabelLength, maxLabels } from "#domain/Labels.ts"
import type { Subscription } from "#domain/Subscription.ts"
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

export const subscriptionRoutes: ReadonlyArray<ManagementRoute<SubscriptionControl>> = [pause, resume, label]
