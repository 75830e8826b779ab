import { Effect, Layer } from "effect"
import { Redelivery } from "#domain/ports/Redelivery.ts"
import { makeFindSubscription, namesSubscription } from "./FindSubscription.ts"
import { Recovery, type UndeliveredRequest } from "./Recovery.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

export const layer = Layer.effect(
  Recovery,
  Effect.gen(function*() {
    return Recovery.of({ undelivered: yield* makeUndelivered })
  })
)

/** `Recovery.undelivered`: a page of waiting and dropped notifications. */
const makeUndelivered = Effect.gen(function*() {
  const redelivery = yield* Redelivery
  const findSubscription = yield* makeFindSubscription
  return Effect.fn("Recovery.undelivered")(function*({ after, caller, limit, ...name }: UndeliveredRequest) {
    const subscription = namesSubscription(name) ? yield* findSubscription(caller, name) : undefined
    return yield* refuseStoreErrors(redelivery.undelivered({
      accountId: caller.account.id,
      limit,
      ...(subscription !== undefined && { subscriptionId: subscription.id }),
      ...(after !== undefined && { after })
    }))
  })
})
