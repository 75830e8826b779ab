/**
 * What a notification that came back says of its receiver.
 *
 * `gone`: there will never be one again. `lasting`: there is none, and waiting does not help. `passing`: nobody can be reached for the moment.
 */
export type Severity = "gone" | "lasting" | "passing"

/** A notification that had been sent, and came back; it is no proof that nobody read it. */
export interface Bounce {
  readonly subscriptionId: number
  /** Of the notification, in the subscription. */
  readonly sequence: number
  /** Bare JID that it came back from. Only that of the subscription is believed: everything else of a bounce can be made up. */
  readonly from: string
  readonly severity: Severity
  /** A sentence for the subscriber. */
  readonly message: string
}

/** What is known of the notifications of a subscription that came back. */
export interface BounceHistory {
  /** Lasting ones in a row: a notification between them that did not come back starts a new row. */
  readonly count: number
  /** When the row began, epoch ms; of passing ones only, when the first of them came. */
  readonly since: number
  /** The highest sequence that came back. */
  readonly sequence: number
  /** The last one of any kind, epoch ms. */
  readonly lastAt: number
  readonly message: string
  /** Trials since the subscription was paused; none of them arrived. */
  readonly trials: number
}

/** So many lasting ones in a row, over so many ms, end the sending: a server that is set up anew refuses everybody for some minutes. */
const maxLastingBounces = 5
const minBouncingMs = 60 * 60_000

/** Milliseconds from a pause to the next trial, which is the first, second, third … one: 1, 2, 4, 8, 16 h, and then once a day. */
const trialWaitMs = (trials: number): number => Math.min(60 * 60_000 * 2 ** trials, 24 * 60 * 60_000)

/** A trial that is further away, in ms, was planned by a clock that was ahead, and is due. */
export const maxTrialDelayMs = 25 * 60 * 60_000

/** When a subscription that is paused now is tried again, epoch ms. */
export const nextTrialAt = ({ lastAt, trials }: BounceHistory): number => lastAt + trialWaitMs(trials)

/** How far the trial of a subscription is that is active after a pause, to see whether one notification arrives. */
export interface Trial {
  /** The one that went out; nothing follows it before it is known what became of it. */
  readonly sent?: {
    readonly sequence: number
    /** From then on it has arrived, epoch ms. */
    readonly until: number
  }
}

/** A trial that has not come back after so many ms has arrived: servers give each other up sooner. */
export const trialTimeMs = 3 * 60_000

/** Whether it has; by a clock that was ahead it was sent long ago. */
export const hasTrialArrived = ({ until }: NonNullable<Trial["sent"]>, now: number): boolean =>
  until <= now || until > now + 2 * trialTimeMs

/** What is known after another one; undefined for what came back already, or in another message of the same notification. */
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

/** What becomes of the subscription: it ends, as by a 410 of a callback, it is paused until its receiver is heard of again, or it is only marked. */
export const decideBounce = (
  severity: Severity,
  { count, lastAt, since }: BounceHistory
): "ended" | "paused" | "marked" =>
  severity === "gone" ? "ended" : count >= maxLastingBounces && lastAt - since >= minBouncingMs ? "paused" : "marked"
