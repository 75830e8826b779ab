import { Effect, Schema } from "effect"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
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

export const subscriptionRoutes: ReadonlyArray<ManagementRoute<SubscriptionControl>> = [pause, resume]
