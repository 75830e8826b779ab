import { dayMs, hourMs, minuteMs } from "#domain/Time.ts"

/**
 * Severity of a bounce.
 *
 * `gone`: the receiver does not exist any more. `lasting`: waiting does not help. `passing`: the receiver is unreachable at the moment.
 */
export type Severity = "gone" | "lasting" | "passing"

/** A returned notification. A bounce does not prove that the message was unread. */
export interface Bounce {
  readonly subscriptionId: number
  /** Sequence of the notification in the subscription. */
  readonly sequence: number
  /** Bare JID of the sender. It has to be the subscription's JID, because a bounce can be forged. */
  readonly from: string
  readonly severity: Severity
  /** A sentence for the subscriber. */
  readonly message: string
}

/** The bounces of a subscription. */
export interface BounceHistory {
  /** Lasting bounces in a row. A notification without a bounce between them starts a new row. */
  readonly count: number
  /** Begin of the row, epoch ms; the first bounce while all of them are passing. */
  readonly since: number
  /** Highest bounced sequence. */
  readonly sequence: number
  /** Last bounce of any severity, epoch ms. */
  readonly lastAt: number
  readonly message: string
  /** Failed trials since the pause. */
  readonly trials: number
}

/**
 * Lasting bounces in a row, and the minimum span of the row in ms, that pause a subscription. A server in setup refuses all messages for some
 * minutes.
 */
const maxLastingBounces = 5
const minBouncingMs = hourMs

/** Milliseconds from a pause to the next trial, which is the first, second, third … one: 1, 2, 4, 8, 16 h, and then once a day. */
const trialWaitMs = (trials: number): number => Math.min(hourMs * 2 ** trials, dayMs)

/** Maximum delay of a trial, in ms. A later one was planned by a clock that was ahead, and is due. */
export const maxTrialDelayMs = 25 * hourMs

/** Time of the next trial of a paused subscription, epoch ms. */
export const nextTrialAt = ({ lastAt, trials }: BounceHistory): number => lastAt + trialWaitMs(trials)

/** The trial of a subscription after its pause: one notification has to arrive. */
export interface Trial {
  /** The sent notification; the next one follows after its arrival is known. */
  readonly sent?: {
    readonly sequence: number
    /** Time from which it counts as arrived, epoch ms. */
    readonly until: number
  }
}

/** Time after which a trial without a bounce counts as arrived, in ms. Servers give up on each other sooner. */
export const trialTimeMs = 3 * minuteMs

/** True when the trial has arrived, also for a trial of a clock that was ahead. */
export const hasTrialArrived = ({ until }: NonNullable<Trial["sent"]>, now: number): boolean =>
  until <= now || until > now + 2 * trialTimeMs

/** The history with another bounce. Undefined for a repeated bounce of the same notification. */
export const addBounce = (
  known: BounceHistory | undefined,
  { message, sequence, severity }: Bounce,
  now: number
): BounceHistory | undefined => {
  const last = { sequence, lastAt: now, message }
  if (known === undefined) return { count: severity === "passing" ? 0 : 1, since: now, trials: 0, ...last }
  if (sequence <= known.sequence) return undefined
  const { count, trials } = known
  const since = Math.min(known.since, now) // a clock that was ahead
  if (severity === "passing") return { count, since, trials, ...last }
  const goesOn = trials > 0 || sequence === known.sequence + 1
  return goesOn && count > 0
    ? { count: count + 1, since, trials, ...last }
    : { count: 1, since: now, trials: 0, ...last }
}

/** The decision about the subscription: ended as by a 410 of a callback, paused until a sign of life, or only marked. */
export const decideBounce = (
  severity: Severity,
  { count, lastAt, since }: BounceHistory
): "ended" | "paused" | "marked" =>
  severity === "gone" ? "ended" : count >= maxLastingBounces && lastAt - since >= minBouncingMs ? "paused" : "marked"
