import { Context, type Effect } from "effect"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

/** What the owner of a subscription finds in the outbox, in order of sequence. */
export interface Backlog {
  readonly deliveries: ReadonlyArray<Delivery>
  /** There are more behind the last one. */
  readonly more: boolean
  /** The next sequence that will be given out: with an empty backlog, what to expect. */
  readonly nextSequence: number
}

/**
 * Deliveries that are not confirmed yet. A row is written by `ResourceStore.record`, in the transaction of the entries;
 * it goes when the callback confirmed, and stays as dropped when the schedule is through.
 */
export class Outbox extends Context.Service<Outbox, {
  /**
   * The first waiting deliveries of a subscription, those that are due later included, those that were confirmed excluded; batched over actors.
   * They are as many as `Delivery.fitting` says of their documents' `bytes`, which are not bounded where none are given. A subscription that is gone has none.
   */
  readonly backlog: (subscriptionId: number, limit: number, bytes?: number) => Effect.Effect<Backlog, StoreError>
  /** Confirmed: the row is deleted within 50 ms, in bulk. A crash before that delivers once more. */
  readonly confirm: (deliveryId: number) => Effect.Effect<void>
  /** Failed and due again at `dueAt`; in bulk. */
  readonly postpone: (delivery: Delivery, dueAt: number, attempt: AttemptResult) => Effect.Effect<void, StoreError>
  /** Given up: kept, visible and replayable; in bulk. */
  readonly drop: (delivery: Delivery, attempt: AttemptResult) => Effect.Effect<void, StoreError>
  /** Gives up what has waited for a subscription since `before` (epoch ms) or earlier, untried; gives how many those were. */
  readonly dropOlder: (subscriptionId: number, before: number) => Effect.Effect<number, StoreError>
  /** What waits for a subscription has waited since `since` (epoch ms) at the earliest. */
  readonly restartWaiting: (subscriptionId: number, since: number) => Effect.Effect<void, StoreError>
  /** Active subscriptions of these partitions with waiting deliveries that were due before `before` (epoch ms): what a dead owner left. */
  readonly findStalled: (
    partitions: ReadonlyArray<number>,
    before: number
  ) => Effect.Effect<ReadonlyArray<{ readonly partition: number; readonly subscriptionId: number }>, StoreError>
  /** Writes what `confirm` has kept. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/Outbox") {}
