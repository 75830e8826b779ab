import { Effect } from "effect"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"

/** Makes the function that logs the denial of a subscription, so that its subscriber finds the reason in the delivery log. */
export const makeRecordDenial = Effect.map(
  DeliveryLog,
  (log) => ({ accountId, endpoint, host, topic }: NewSubscription, { message }: Refusal) =>
    log.recordEnd({
      outcome: "denied",
      reason: "refused-intent",
      accountId,
      topic: topic.given,
      endpoint,
      host,
      code: 0,
      message: maskToken(message)
    })
)

/** Makes the function that also logs the denial when the subscriber waits for the verification. The refusal stays the same. */
export const makeRecordDenied = Effect.map(
  makeRecordDenial,
  (record) => <A>(subscription: NewSubscription, verified: Effect.Effect<A, Refusal>): Effect.Effect<A, Refusal> =>
    Effect.tapError(verified, (refusal) =>
      refusal.reason._tag !== "NotVerified" ? Effect.void : Effect.catchTag(
        record(subscription, refusal),
        "StoreError",
        warnOfStoreError("A denied subscription is missing in the delivery log.")
      ))
)

/** The sentence repeats the URL of the verification, and the token in the URL proves a request to the callback. */
const maskToken = (message: string): string => message.replaceAll(/(hub\.verify_token=)[^&\s]*/g, "$1***")
