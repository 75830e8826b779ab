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
  readonly severity: Severity
  /** A sentence for the subscriber. */
  readonly message: string
}

/** What is known of the notifications of a subscription that came back. */
export interface Bounces {
  /** Lasting ones in a row: a notification between them that did not come back starts a new row. */
  readonly count: number
  /** When the row began, epoch ms; of passing ones only, when the first of them came. */
  readonly since: number
  /** The highest sequence that came back. */
  readonly sequence: number
  /** The last one of any kind, epoch ms. */
  readonly lastAt: number
  readonly message: string
}

/** So many lasting ones in a row, over so many ms, end the sending: a server that is set up anew refuses everybody for some minutes. */
const most = 5
const patience = 60 * 60_000

/** What is known after another one. */
export const afterBounce = (
  known: Bounces | undefined,
  { message, sequence, severity }: Bounce,
  now: number
): Bounces => {
  if (known === undefined) return { count: severity === "passing" ? 0 : 1, since: now, sequence, lastAt: now, message }
  const goesOn = sequence <= known.sequence + 1
  const last = { sequence: Math.max(sequence, known.sequence), lastAt: now, message }
  if (severity === "passing") return { count: known.count, since: known.since, ...last }
  return goesOn && known.count > 0
    ? { count: known.count + 1, since: known.since, ...last }
    : { count: 1, since: now, ...last }
}

/** What becomes of the subscription: it ends, as by a 410 of a callback, it is paused until its receiver is heard of again, or it is only marked. */
export const verdict = (
  severity: Severity,
  { count, lastAt, since }: Bounces
): "ended" | "paused" | "marked" =>
  severity === "gone" ? "ended" : count >= most && lastAt - since >= patience ? "paused" : "marked"
