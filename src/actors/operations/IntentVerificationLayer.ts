import { Clock, Effect, Layer, Option, Queue, Schedule } from "effect"
import { IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import { subscriptionFieldsOf } from "#domain/Event.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import type { Verification } from "#domain/ports/VerificationQueue.ts"
import { hasLeaseEnded } from "#domain/websub/Lease.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { makeActivate } from "./ActivateSubscription.ts"
import { IntentVerification } from "./IntentVerification.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { makeSubscriptionLimits } from "./SubscriptionLimits.ts"
import { awaited, makeSubscriptionWriter } from "./SubscriptionWriter.ts"
import { makeVerificationRound } from "./VerificationRound.ts"
import { verifyIntent } from "./VerifyIntent.ts"

/** Expired subscriptions that one statement deletes, at most. */
const expiredBatch = 1_000

export const layer = Layer.effect(
  IntentVerification,
  Effect.gen(function*() {
    const verify = yield* makeVerify
    const wakeups = yield* Queue.sliding<void>(1)
    const wake = Effect.asVoid(Queue.offer(wakeups, undefined))
    const { round } = yield* makeVerificationRound(verify, wakeups)
    const expired = removeExpired(yield* SubscriptionStore, yield* Partitions, yield* EventLog)
    yield* superviseLoop("verifying intents", round, Schedule.spaced("10 millis"))
    yield* superviseLoop("removing expired subscriptions", expired, Schedule.spaced("30 seconds"))
    return IntentVerification.of({ verify, wake })
  })
)

const makeVerify = Effect.gen(function*() {
  const verifier = yield* IntentVerifier
  const subscribe = yield* makeVerifySubscribe
  const subscriptions = yield* SubscriptionStore
  const writer = yield* makeSubscriptionWriter(awaited)
  const partitions = yield* Partitions

  const unsubscribe = Effect.fnUntraced(function*(
    verification: Extract<Verification, { mode: "unsubscribe" }>,
    isBrief: boolean
  ) {
    const { subscription } = verification
    yield* verifyIntent(verifier, { ...intentOf(verification), mode: "unsubscribe", leaseSeconds: "", isBrief })
    const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
    if (known !== undefined) yield* writer.remove(known, subscription.partition)
  })

  /** The answer tells that the callback receives at its new network. A refusal changes nothing: deliveries there stay stopped. */
  const reconfirm = Effect.fnUntraced(function*({ subscription }: Extract<Verification, { mode: "reconfirm" }>) {
    const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
    const now = yield* Clock.currentTimeMillis
    if (known?.state !== "active" || known.leaseUntil === undefined || hasLeaseEnded(known, now)) return
    const leaseSeconds = Math.ceil((known.leaseUntil - now) / 1000)
    const { endpoint: callback, topic } = known
    const network = yield* verifyIntent(verifier, { mode: "subscribe", topic, callback, leaseSeconds })
    if (network === undefined) return
    yield* refuseStoreErrors(subscriptions.saveNetwork(known.id, network))
    yield* partitions.reloadSubscription(subscription.partition, known.id)
  })

  return Effect.fn("IntentVerification.verify")(function*(verification: Verification, isBrief = false) {
    switch (verification.mode) {
      case "subscribe":
        return yield* subscribe(verification, isBrief)
      case "unsubscribe":
        return yield* unsubscribe(verification, isBrief)
      case "reconfirm":
        return yield* reconfirm(verification)
      case "denied":
        return yield* verifier.deny({
          topic: verification.subscription.topic.given,
          callback: verification.subscription.endpoint,
          reason: verification.reason
        })
    }
  })
})

const makeVerifySubscribe = Effect.gen(function*() {
  const verifier = yield* IntentVerifier
  const subscriptions = yield* SubscriptionStore
  const refresh = yield* makeRefreshBeforeSubscribe
  const activate = yield* makeActivate
  const { checkNetworkLimit } = yield* makeSubscriptionLimits
  const { strangersTurn } = yield* Precedence
  const writer = yield* makeSubscriptionWriter(awaited)

  /**
   * An active subscription keeps its state until the new one is confirmed.
   *
   * Before the consent, a subscription of the hub face has no row, and its resource is neither created nor fetched. The API face has
   * stored its pending subscription with the request.
   */
  return Effect.fnUntraced(function*(verification: Extract<Verification, { mode: "subscribe" }>, isBrief: boolean) {
    const { leaseSeconds, subscription } = verification
    const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
    const askedAt = yield* Clock.currentTimeMillis
    const isActive = known?.state === "active" && !hasLeaseEnded(known, askedAt)
    if (subscription.face === "api" && !isActive) yield* refresh(subscription)
    const network = yield* verifyIntent(verifier, {
      ...intentOf(verification),
      mode: "subscribe",
      leaseSeconds,
      isBrief
    }).pipe(
      Effect.tapError(() =>
        isActive || known === undefined ? Effect.void : Effect.ignore(subscriptions.removePending(known.id))
      )
    )
    if (subscription.face === "api") return yield* writer.save(subscription)
    yield* strangersTurn
    const leaseUntil = (yield* Clock.currentTimeMillis) + leaseSeconds * 1000
    const leased = { ...subscription, leaseUntil, ...(network === undefined ? {} : { network }) }
    if (isActive) return yield* writer.save(leased)
    // The name may have resolved to another network at the request.
    yield* checkNetworkLimit(network)
    return yield* activate(leased, askedAt)
  })
})

const intentOf = (
  { subscription, verifyToken }: Extract<Verification, { mode: "subscribe" | "unsubscribe" }>
) => ({
  topic: subscription.topic.given,
  callback: subscription.endpoint,
  ...(verifyToken === undefined ? {} : { verifyToken })
})

/** Deletes subscriptions with an expired lease, and notifies their owners. */
const removeExpired = (
  subscriptions: SubscriptionStore["Service"],
  partitions: Partitions["Service"],
  events: EventLog["Service"]
) =>
  Effect.gen(function*() {
    const expired = yield* subscriptions.removeExpired(expiredBatch)
    yield* Effect.forEach(
      expired,
      Effect.fnUntraced(function*(ended) {
        const { id, partition, resourceId } = ended
        yield* partitions.forget(partition, id)
        yield* partitions.reloadResource(partition, resourceId)
        yield* events.publish({
          type: "subscription.ended",
          ...subscriptionFieldsOf(ended),
          reason: "lease",
          message: "The lease has expired, and the subscriber has not renewed it."
        })
      }),
      { concurrency: 8, discard: true }
    )
  }).pipe(
    Effect.catchTag(
      "StoreError",
      warnOfStoreError("Expired subscriptions are not deleted yet; retrying in 30 s.")
    )
  )
