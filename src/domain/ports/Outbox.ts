import { Context, type Effect } from "effect"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

/** The waiting deliveries of a subscription, in order of sequence. */
export interface Backlog {
  readonly deliveries: ReadonlyArray<Delivery>
  /** True when more deliveries wait behind the last one. */
  readonly hasMore: boolean
  /** The next sequence of the subscription, which an empty backlog has to expect. */
  readonly nextSequence: number
}

/** Maximum of deliveries that `measure` counts: it reads all of them. */
export const maxMeasured = 200_000

/**
 * Unconfirmed deliveries. `ResourceStore.record` writes a row in the transaction of the entries. A confirmation deletes the row; the end of
 * the retry schedule leaves it as dropped.
 */
export class Outbox extends Context.Service<Outbox, {
  /**
   * The first unconfirmed deliveries of a subscription, due or not; batched over actors. `countFitting` bounds the `bytes` of their documents,
   * without a bound for undefined. A removed subscription has none.
   */
  readonly backlog: (subscriptionId: number, limit: number, bytes?: number) => Effect.Effect<Backlog, StoreError>
  /** Deletes an accepted delivery in bulk within 50 ms. After a crash in between, it is delivered again. */
  readonly confirm: (deliveryId: number) => Effect.Effect<void>
  /** Keeps an accepted part as delivered, because its row alone tells its entries. Nearly no delivery is a part. */
  readonly confirmPart: (deliveryId: number) => Effect.Effect<void, StoreError>
  /** Plans the next attempt of a failed delivery at `dueAt` (epoch ms), with its `requestedWait`; in bulk. */
  readonly postpone: (delivery: Delivery, dueAt: number, attempt: AttemptResult) => Effect.Effect<void, StoreError>
  /**
   * Splits the first delivery of a subscription in two, after an attempt that showed it to be too large. The older half of the entries takes
   * its sequence, the newer half the next one, and all later sequences move up by one, in one transaction. A repeated call changes nothing.
   *
   * Returns false, and changes nothing, for a single entry, and when a later sequence has left the outbox: the sequence would be used twice.
   */
  readonly split: (delivery: Delivery, attempt: AttemptResult) => Effect.Effect<boolean, StoreError>
  /** Drops a delivery: the row stays visible and can be recovered; in bulk. */
  readonly drop: (delivery: Delivery, attempt: AttemptResult) => Effect.Effect<void, StoreError>
  /** Drops the deliveries of a subscription that have waited since `before` (epoch ms) or longer. Returns their number. */
  readonly dropOlder: (subscriptionId: number, before: number) => Effect.Effect<number, StoreError>
  /** Holds the first waiting delivery of a subscription back until `dueAt` (epoch ms), which is `waitMs` away; its attempts stay. */
  readonly hold: (subscriptionId: number, dueAt: number, waitMs: number) => Effect.Effect<void, StoreError>
  /** Lets all waits of a subscription begin at `since` (epoch ms) at the earliest. */
  readonly restartWaiting: (subscriptionId: number, since: number) => Effect.Effect<void, StoreError>
  /** Active subscriptions of these partitions whose first waiting delivery was due before `before` (epoch ms), as a dead owner leaves it. */
  readonly findStalled: (
    partitions: ReadonlyArray<number>,
    before: number
  ) => Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly subscriptionId: number }>, StoreError>
  /** Counts the waiting deliveries of all runners, up to `maxMeasured`. `oldestAt` is the earliest creation, epoch ms. */
  readonly measure: Effect.Effect<{ readonly waiting: number; readonly oldestAt: number | undefined }, StoreError>
  /** Writes the buffered confirmations. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/Outbox") {}
