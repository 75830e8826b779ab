import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { maxLabels } from "#domain/Labels.ts"
import { print } from "./Output.ts"
import { callManagementApi, decodeAnswer, serviceFlags } from "./RemoteService.ts"
import { nameOf, subscriptionFlags } from "./SubscriptionFlags.ts"

const Labelled = Schema.Struct({ subscription: Schema.Int, labels: Schema.Array(Schema.String) })

export const label = Command.make(
  "label",
  {
    ...serviceFlags,
    ...subscriptionFlags,
    labels: Argument.String("label").pipe(
      Argument.withDescription("All labels of the subscription, in order; without any, its labels are removed"),
      Argument.between(0, maxLabels)
    )
  },
  Effect.fnUntraced(function*({ labels: given, ...flags }) {
    const { labels, subscription } = yield* callManagementApi(flags, "POST", "/api/labels", {
      ...nameOf(flags),
      labels: given
    }).pipe(Effect.flatMap(decodeAnswer(Labelled)))
    yield* print(
      labels.length === 0
        ? `Subscription ${subscription} has no labels.`
        : `Subscription ${subscription} has the labels: ${labels.join(", ")}`
    )
  })
).pipe(Command.withDescription("Replace the labels of a subscription"))
