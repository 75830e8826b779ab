import { Clock, Effect, Option } from "effect"
import { IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { type Verification, VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import { refuseThrottled } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Lease from "#domain/websub/Lease.ts"
import type { SubscribeRequest, UnsubscribeRequest } from "./Hub.ts"
import { IntentVerification } from "./IntentVerification.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { verifyIntent } from "./VerifyIntent.ts"
import { dayMs } from "#domain/Time.ts"

/** Time after which a pending subscription of the API face expires when its verification was lost, in ms. */
const apiPendingTimeMs = dayMs

/** The requested verification. Callbacks alone can be verified; the null device and JIDs cannot. */
export const requestedVerification = (
  { verify }: SubscribeRequest | UnsubscribeRequest,
  { channel }: Pick<Subscription, "channel">
): "sync" | "async" | undefined => channel === "webhook" ? verify : undefined

/** Verifications that a caller of the API face asks for: before the response (`now`), or after it. */
export const makeApiVerification = Effect.gen(function*() {
  const subscriptions = yield* SubscriptionStore
  const verifier = yield* IntentVerifier
  const queue = yield* VerificationQueue
  const verification = yield* IntentVerification

  const now = (
    request: SubscribeRequest | UnsubscribeRequest,
    callback: string,
    mode: "subscribe" | "unsubscribe"
  ) =>
    verifyIntent(verifier, {
      mode,
      topic: request.topic,
      callback,
      leaseSeconds: mode === "subscribe" ? Lease.unlimitedLeaseSeconds : "",
      ...tokenOf(request)
    })

  /** The row of the queue exists before the response; any runner verifies it. */
  const enqueue = Effect.fnUntraced(function*(queued: Verification) {
    const account = `account ${queued.subscription.accountId}`
    const origin = { asker: account, network: account, target: account }
    const added = yield* refuseStoreErrors(queue.add(queued, "api", origin))
    if (added !== "added") return yield* tooManyWaiting
    yield* verification.wake
    return "pending" as const
  })

  /** An existing subscription keeps its state until the new one is verified. */
  const subscribeLater = Effect.fnUntraced(function*(request: SubscribeRequest, subscription: NewSubscription) {
    const queued = {
      mode: "subscribe" as const,
      subscription,
      leaseSeconds: Lease.unlimitedLeaseSeconds,
      ...tokenOf(request)
    }
    if (Option.isSome(yield* refuseStoreErrors(subscriptions.find(subscription)))) return yield* enqueue(queued)
    const leaseUntil = (yield* Clock.currentTimeMillis) + apiPendingTimeMs
    const pending = yield* refuseStoreErrors(
      subscriptions.subscribe({ ...subscription, state: "pending", leaseUntil })
    )
    return yield* enqueue(queued).pipe(
      Effect.tapError(() => Effect.ignore(subscriptions.removePending(pending.subscription.id)))
    )
  })

  const unsubscribeLater = (request: UnsubscribeRequest, subscription: NewSubscription) =>
    enqueue({ mode: "unsubscribe", subscription, ...tokenOf(request) })

  return { now, subscribeLater, unsubscribeLater }
})

const tokenOf = ({ verifyToken }: SubscribeRequest | UnsubscribeRequest) =>
  verifyToken === undefined ? {} : { verifyToken }

const tooManyWaiting = Effect.fail(
  refuseThrottled("Too many verifications of yours wait for their callbacks. Try again later.", 60)
)
