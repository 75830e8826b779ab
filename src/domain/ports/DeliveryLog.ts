import { Context, type Effect } from "effect"
import type { StoreError } from "./StoreError.ts"

/** A try of a delivery that failed, as it is shown. */
export interface FailedTry {
  readonly subscriptionId: number
  /** As the subscriber wrote it. */
  readonly topic: string
  /** Callback URL or bare JID. */
  readonly endpoint: string
  /** Of the notification, in the subscription. */
  readonly sequence: number
  /** 1: the first one. */
  readonly attempt: number
  /** Epoch ms. */
  readonly failedAt: number
  /** HTTP status; 0: no answer. */
  readonly code: number
  /** A sentence, with the beginning of the answer. */
  readonly message: string
  /** Milliseconds until the answer had come. */
  readonly latency?: number
  /** Epoch ms; without it this was the last try, and the delivery is dropped. */
  readonly nextTry?: number
}

/**
 * The latest failed tries of each subscription; written by `Outbox.postpone` and `Outbox.drop`, kept for a week.
 *
 * Of a try whose place a later one takes nothing is kept: see `placeInLog`. What was delivered at once is counted, not logged.
 */
export class DeliveryLog extends Context.Service<DeliveryLog, {
  /** Newest first; of everybody without an account. Subscriptions that are gone have none. */
  readonly list: (
    query: { readonly accountId?: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<FailedTry>, StoreError>
}>()("windhover/domain/ports/DeliveryLog") {}
