import { Effect, Layer } from "effect"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { CallbackLimiter } from "#actors/limits/CallbackLimiter.ts"
import { countRecovered } from "#actors/runtime/Metrics.ts"
import { Redelivery } from "#domain/ports/Redelivery.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { makeAccountLimit } from "./AccountLimit.ts"
import { makeFindSubscription, namesSubscription } from "./FindSubscription.ts"
import { makeReadNotifications } from "./ReadNotifications.ts"
import { type RecoverRequest, Recovery, type UndeliveredRequest } from "./Recovery.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import { makeResend } from "./Resend.ts"
import { makeSendTest } from "./SendTest.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Recoveries of one account. Each may cause an attempt at a broken callback. */
const recoverLimit = { burst: 20, perMinute: 20 }

/** Notifications that one recovery sends. One statement writes them, so that a later one does not overtake them. */
const maxRecovered = 100_000

export const layer = Layer.effect(
  Recovery,
  Effect.gen(function*() {
    return Recovery.of({
      undelivered: yield* makeUndelivered,
      recover: yield* makeRecover,
      readNotifications: yield* makeReadNotifications,
      resend: yield* makeResend,
      sendTest: yield* makeSendTest
    })
  })
).pipe(Layer.provide(CallbackLimiter.layer))

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

/** `Recovery.recover`: dropped notifications wait again, and their owner reads them from the outbox. */
const makeRecover = Effect.gen(function*() {
  const partitions = yield* Partitions
  const redelivery = yield* Redelivery
  const findSubscription = yield* makeFindSubscription
  const limit = makeAccountLimit("recoveries are possible", recoverLimit)

  const recover = Effect.fnUntraced(function*(subscription: Subscription, since: RecoverRequest["since"]) {
    const recovered = yield* refuseStoreErrors(redelivery.recover(subscription.id, since, maxRecovered))
    if (recovered !== undefined) yield* partitions.reloadSubscription(recovered.partition, subscription.id)
    return recovered
  }, Effect.uninterruptible)

  return Effect.fn("Recovery.recover")(function*({ caller, since, ...name }: RecoverRequest) {
    const subscription = yield* findSubscription(caller, name)
    yield* limit(caller)
    const recovered = yield* recover(subscription, since)
    if (recovered === undefined) {
      return yield* refuseNotSubscribed(`The subscription ${subscription.id} has ended meanwhile.`)
    }
    yield* countRecovered(recovered.recovered)
    return { ...recovered, subscription }
  })
})
