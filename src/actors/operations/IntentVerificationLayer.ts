import { Clock, Effect, Layer, Option, Queue, Schedule } from "effect"
import { IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Verification } from "#domain/ports/VerificationQueue.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { hasLeaseEnded } from "#domain/websub/Lease.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { IntentVerification } from "./IntentVerification.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { awaited, makeSubscriptionWriter } from "./SubscriptionWriter.ts"
import { makeVerificationRound } from "./VerificationRound.ts"
import { verifyIntent } from "./VerifyIntent.ts"

/** Time that a subscription of the hub face stays pending, in ms; then it expires, even if its runner has died. */
const hubPendingTimeMs = 120_000

/** Expired subscriptions that one statement deletes, at most. */
const expiredBatch = 1_000

export const layer = Layer.effect(
  IntentVerification,
  Effect.gen(function*() {
    const verify = yield* makeVerify
    const wakeups = yield* Queue.sliding<void>(1)
    const wake = Effect.asVoid(Queue.offer(wakeups, undefined))
    const { round } = yield* makeVerificationRound(verify, wakeups)
    const expired = removeExpired(yield* SubscriptionStore, yield* Partitions)
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

  const unsubscribe = Effect.fnUntraced(function*(verification: Extract<Verification, { mode: "unsubscribe" }>) {
    const { subscription } = verification
    yield* verifyIntent(verifier, { ...intentOf(verification), mode: "unsubscribe", leaseSeconds: "" })
    const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
    if (known !== undefined) yield* writer.remove(known, subscription.partition)
  })

  return Effect.fn("IntentVerification.verify")(function*(verification: Verification) {
    switch (verification.mode) {
      case "subscribe":
        return yield* subscribe(verification)
      case "unsubscribe":
        return yield* unsubscribe(verification)
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
  const partitions = yield* Partitions
  const subscriptions = yield* SubscriptionStore
  const refresh = yield* makeRefreshBeforeSubscribe
  const writer = yield* makeSubscriptionWriter(awaited)

  /**
   * Stores a pending subscription of the hub face, and fetches its resource, before the callback confirms.
   * Every later change is news for the callback, and waits in the outbox until the confirmation.
   */
  const storePending = Effect.fnUntraced(function*(wanted: NewSubscription) {
    yield* refresh(wanted)
    const leaseUntil = (yield* Clock.currentTimeMillis) + hubPendingTimeMs
    const pending = { ...wanted, state: "pending" as const, leaseUntil }
    const { resource, subscription } = yield* refuseStoreErrors(subscriptions.subscribe(pending))
    yield* partitions.reloadResource(wanted.partition, resource.id)
    if (resource.lastFetch === undefined) yield* partitions.firstFetch(wanted.partition, resource.id)
    return subscription.id
  })

  /** The API face has stored its pending subscription with the request. */
  const preparePending = (wanted: NewSubscription, known: Subscription | undefined) =>
    wanted.face === "hub" ? storePending(wanted) : Effect.as(refresh(wanted), known?.id)

  /** An active subscription keeps its state until the new one is confirmed. */
  return Effect.fnUntraced(function*(verification: Extract<Verification, { mode: "subscribe" }>) {
    const { leaseSeconds, subscription } = verification
    const known = Option.getOrUndefined(yield* refuseStoreErrors(subscriptions.find(subscription)))
    const isActive = known?.state === "active" && !hasLeaseEnded(known, yield* Clock.currentTimeMillis)
    const pending = isActive ? undefined : yield* preparePending(subscription, known)
    yield* verifyIntent(verifier, { ...intentOf(verification), mode: "subscribe", leaseSeconds }).pipe(
      Effect.tapError(() => pending === undefined ? Effect.void : Effect.ignore(subscriptions.removePending(pending)))
    )
    const lease = subscription.face === "hub" &&
      { leaseUntil: (yield* Clock.currentTimeMillis) + leaseSeconds * 1000 }
    yield* writer.save({ ...subscription, ...lease })
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
const removeExpired = (subscriptions: SubscriptionStore["Service"], partitions: Partitions["Service"]) =>
  Effect.gen(function*() {
    const expired = yield* subscriptions.removeExpired(expiredBatch)
    yield* Effect.forEach(
      expired,
      ({ id, partition, resourceId }) =>
        Effect.andThen(partitions.forget(partition, id), partitions.reloadResource(partition, resourceId)),
      { concurrency: 8, discard: true }
    )
  }).pipe(
    Effect.catchTag(
      "StoreError",
      ({ message }) => Effect.logWarning(`Expired subscriptions are not deleted yet; retrying in 30 s: ${message}`)
    )
  )
