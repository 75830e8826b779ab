import type { FailureReason } from "./FailureReason.ts"
import type { AttemptResult } from "./Notification.ts"

/**
 * Outcomes of attempts, and of subscriptions.
 *
 * `failed`: another attempt follows. `dropped`: it was the last one. `bounced`: accepted, and returned later. `ended`: the receiver ended its
 * subscription. `denied`: the callback did not confirm its subscription.
 */
export const outcomes = ["delivered", "failed", "dropped", "bounced", "ended", "denied"] as const

export type DeliveryOutcome = typeof outcomes[number]

interface LoggedEvent extends AttemptResult {
  /** Unique; later events have larger ones. See `parseLogId`. */
  readonly id: string
  /** As the subscriber wrote it. */
  readonly topic: string
  /** Callback URL or bare JID. */
  readonly endpoint: string
  /** Epoch ms. */
  readonly triedAt: number
}

/** One attempt of a delivery. */
export interface LoggedAttempt extends LoggedEvent {
  readonly outcome: Exclude<DeliveryOutcome, "denied">
  readonly subscriptionId: number
  /** Of the notification, in the subscription. */
  readonly sequence: number
  /** Number of the attempt from 1; 0 for a bounce. */
  readonly attempt: number
  /** As in the header of the notification; absent for a bounce and for an end. */
  readonly notificationId?: string
  /** Time of the next attempt after a failed one, epoch ms. */
  readonly nextTry?: number
}

/** A subscription whose callback did not confirm it. The log is the only place that shows the denial. */
export interface LoggedDenial extends LoggedEvent {
  readonly outcome: "denied"
}

/** Maximum of stored failed attempts per subscription: a ring of slots, in which the next failure takes the place of the oldest. */
export const maxFailures = 64

/** Maximum of stored successes per subscription: a ring by sequence. */
export const maxSuccesses = 16

/** Maximum of failures, and of successes, of a subscription whose attempts are all recorded. */
export const maxRecorded = 1_024

/** First slot of the successes, behind the ones of all failures. */
export const firstSuccessSlot = 1_024

/** Slot of a success. Attempts of one sequence have one success at most, so that no count is needed. */
export const successSlotOf = (sequence: number, isRecorded: boolean): number =>
  firstSuccessSlot + sequence % (isRecorded ? maxRecorded : maxSuccesses)

/** Time for which all attempts of a subscription are recorded on request, in minutes. */
export const recordingMinutes = 60

/** Maximum of recorded subscriptions per account. */
export const maxRecordings = 20

/** Selects events of the log. */
export interface DeliveryQuery {
  /** All accounts without it. */
  readonly accountId?: number
  readonly subscriptionId?: number
  /** Host of the callback, or domain of the JID, in lower case. */
  readonly host?: string
  /** In canonical form, and as it was given. */
  readonly topic?: { readonly canonical: string; readonly given: string }
  readonly outcome?: DeliveryOutcome
  readonly reason?: FailureReason
  /** HTTP status; 0 for attempts without one. */
  readonly code?: number
  /** Epoch ms, inclusive. */
  readonly from?: number
  /** Epoch ms, exclusive. */
  readonly to?: number
  /** The position behind which the page begins, see `DeliveryPage`. */
  readonly after?: string
  readonly limit: number
}

/** A page of the log, newest first. */
export interface DeliveryPage {
  readonly items: ReadonlyArray<LoggedAttempt | LoggedDenial>
  /** Position of the next page; undefined on the last one. A page with two or more filters can have few items, or none, and a next page. */
  readonly next?: string
}

/** Bits of a position below its milliseconds. They tell events of one millisecond apart. */
const serialBits = 21n

export const serialMask = (1 << Number(serialBits)) - 1

const maxPosition = 2n ** 63n - 1n

/** Lowest position of a time in epoch ms. Positions are ordered by time, so that one index serves times and pages. */
export const firstPositionAt = (time: number): bigint => {
  const position = BigInt(Math.max(0, Math.floor(time))) << serialBits
  return position > maxPosition ? maxPosition : position
}

export const timeOfPosition = (position: bigint): number => Number(position >> serialBits)

/** Reads a position; undefined for a text that is none. */
export const parsePosition = (text: string): bigint | undefined => {
  if (!/^\d{1,19}$/.test(text)) return undefined
  const position = BigInt(text)
  return position > maxPosition ? undefined : position
}

/** The place of a logged event. Its slot may hold a later event, of another position. */
export type LogPlace =
  | { readonly position: bigint }
  | { readonly position: bigint; readonly subscriptionId: number; readonly slot: number }

/** The id of an attempt is `SUBSCRIPTION-SLOT-POSITION`, the id of an end or a denial is `POSITION`. */
export const formatLogId = (
  position: string | bigint,
  attempt?: { readonly subscriptionId: number; readonly slot: number }
): string => attempt === undefined ? String(position) : `${attempt.subscriptionId}-${attempt.slot}-${position}`

/** Undefined for a text that is no id. */
export const parseLogId = (id: string): LogPlace | undefined => {
  const [, subscriptionId, slot, text = ""] = /^(?:(\d{1,15})-(\d{1,4})-)?(\d{1,19})$/.exec(id) ?? []
  const position = parsePosition(text)
  if (position === undefined) return undefined
  return subscriptionId === undefined
    ? { position }
    : { position, subscriptionId: Number(subscriptionId), slot: Number(slot) }
}
