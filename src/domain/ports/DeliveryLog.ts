import { Context, type Effect, type Option } from "effect"
import type {
  DeliveryPage,
  DeliveryQuery,
  LoggedAttempt,
  LoggedDenial,
  LogPlace
} from "#domain/delivery/DeliveryLogEntry.ts"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import type { StoreError } from "./StoreError.ts"

/** The end of a subscription, or its denial. */
export type SubscriptionEnd =
  & (
    | Omit<LoggedAttempt, "id" | "triedAt" | "nextTry" | "outcome"> & { readonly outcome: "ended" }
    | Omit<LoggedDenial, "id" | "triedAt">
  )
  & {
    readonly accountId: number
    /** Host of the callback, or domain of the JID. */
    readonly host: string
  }

/** Maximum of stored ends per account. The hub face counts as one account. */
export const maxEnds = 1_000

/** Maximum of successes that a runner writes per second, without the ones of recorded subscriptions. */
export const maxSuccessesPerSecond = 500

/** A logged event with its delivery, as long as the notification is stored. */
export interface DeliveryDetail {
  readonly event: LoggedAttempt | LoggedDenial
  /** Absent for denials, ends and bounces, and after the notification was deleted. */
  readonly delivery?: Delivery
}

/**
 * The log of deliveries, kept as long as dropped deliveries.
 *
 * Holds the last failed and the last successful attempts of each subscription, and the ends of subscriptions. `Outbox.postpone`,
 * `Outbox.split`, `Outbox.drop` and `BounceStore.record` write the failed attempts.
 */
export class DeliveryLog extends Context.Service<DeliveryLog, {
  /**
   * A page, newest first. A removed subscription has only its end.
   *
   * Reads a bounded number of rows for any filter, and counts none.
   */
  readonly list: (query: DeliveryQuery) => Effect.Effect<DeliveryPage, StoreError>
  /** One event of an account; of all accounts without `accountId`. None for an event that a later one has replaced. */
  readonly find: (
    place: LogPlace,
    accountId: number | undefined
  ) => Effect.Effect<Option.Option<DeliveryDetail>, StoreError>
  /** Records all attempts of a subscription until `until` (epoch ms), in a larger ring. `unknown` for a subscription of another account. */
  readonly startRecording: (
    target: { readonly accountId?: number; readonly subscriptionId: number },
    until: number
  ) => Effect.Effect<"started" | "unknown" | "too-many", StoreError>
  /**
   * Logs a success; written in bulk within a second. Beyond `maxSuccessesPerSecond`, successes are only counted, so that the log stays
   * cheaper than the deliveries.
   */
  readonly recordDelivery: (delivery: Delivery, result: AttemptResult) => Effect.Effect<void>
  readonly recordEnd: (end: SubscriptionEnd) => Effect.Effect<void, StoreError>
  /** Writes the buffered successes. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/DeliveryLog") {}
