import { Effect } from "effect"
import { type AttemptResult, attemptText } from "#domain/delivery/Notification.ts"
import type { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { subscriptionFieldsOf } from "#domain/Event.ts"
import type { EventLog } from "#domain/ports/EventLog.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import type { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"

/** The notification whose delivery has ended the subscription; attempt 0 for a bounce. */
export interface FinalDelivery extends AttemptResult {
  readonly sequence: number
  readonly attempt: number
}

/** `gone`: the receiver is gone. `lease`: the callback of a stranger has failed for a day. */
type EndReason = "gone" | "lease"

const endTexts = {
  gone: "A receiver ended its subscription.",
  lease: "The lease of a subscription ends, because its callback has failed for 24 h."
} as const satisfies { readonly [reason in EndReason]: string }

/**
 * Logs the end of a subscription by its receiver (a 410 of a callback, a bounce of a JID that is gone), and deletes the subscription.
 *
 * `persist` treats the errors of each statement. The caller notifies the owners.
 */
export const endSubscription = Effect.fnUntraced(function*<E>(
  stores: {
    readonly events: EventLog["Service"]
    readonly log: DeliveryLog["Service"]
    readonly subscriptions: SubscriptionStore["Service"]
  },
  persist: <A>(statement: Effect.Effect<A, StoreError>) => Effect.Effect<A, E>,
  subscription: Subscription,
  last: FinalDelivery,
  reason: EndReason = "gone"
) {
  const { accountId, endpoint, host, id, topic } = subscription
  const ended = { accountId, subscriptionId: id, topic, endpoint, host }
  yield* persist(stores.log.recordEnd({ outcome: "ended", ...ended, ...last }))
  yield* persist(stores.subscriptions.remove(id))
  yield* stores.events.publish({
    type: "subscription.ended",
    ...subscriptionFieldsOf(subscription),
    reason,
    message: attemptText(last)
  })
  yield* Effect.logInfo(endTexts[reason]).pipe(
    Effect.annotateLogs({ subscription: id, reason: attemptText(last) })
  )
})
