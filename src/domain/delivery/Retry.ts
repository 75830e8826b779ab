import { dayMs, hourMs } from "#domain/Time.ts"

/** Retries after failed attempts: `short` gives up after 30 s, `days` after 3 days. */
export const retries = ["short", "days"] as const

export type Retry = typeof retries[number]

/** The name of a retry schedule: the choices of a subscriber, and the default of the hub face. */
export type RetrySchedule = Retry | "hub"

/**
 * Maximum time that a delivery waits for a failing callback, in ms.
 *
 * Deliveries are tried in order, so that the ones behind a failing delivery wait as long as it does. Without a limit their number, and the
 * bytes of their documents, would grow with the lease.
 */
export const maxWaitingMs: { readonly [schedule in RetrySchedule]: number } = {
  short: dayMs,
  days: 3 * dayMs,
  hub: dayMs
}

/** Status of a callback that takes no notification of this size. */
export const tooLargeStatus = 413

/** The schedule of a subscription. `byDefault` applies to subscriptions of the API face without a choice of their own. */
export const scheduleOf = (
  { face, retry }: { readonly face: "api" | "hub"; readonly retry?: Retry },
  byDefault: Retry
): RetrySchedule => retry ?? (face === "hub" ? "hub" : byDefault)

/**
 * The schedule of a delivery after an attempt with this status.
 *
 * A notification that is too large for its callback gets the few retries of `short`: days of the same bytes would only hold up the later
 * notifications, which may be smaller.
 */
export const scheduleAfter = (schedule: RetrySchedule, code: number): RetrySchedule =>
  code === tooLargeStatus ? "short" : schedule

/**
 * The decision after a failed attempt.
 *
 * `wait` (ms) comes from the retry schedule; undefined when the schedule has ended. The waiting began at `since` (epoch ms), and lasts for
 * `maxMs` at most.
 */
export const afterFailure = (
  wait: number | undefined,
  since: number,
  now: number,
  maxMs: number
): { readonly _tag: "Drop" } | { readonly _tag: "Retry"; readonly dueAt: number } =>
  wait === undefined || now + wait > since + maxMs ? { _tag: "Drop" } : { _tag: "Retry", dueAt: now + wait }

/**
 * The time of the next attempt, epoch ms, after a wait of `wait` ms.
 *
 * An attempt that is further away than its wait was planned by a clock that was ahead, and is due now.
 */
export const plannedAttempt = (wait: number, dueAt: number, now: number): number => dueAt > now + wait ? now : dueAt

/** A callback that has failed in all attempts since `since` (epoch ms). */
export interface Failing {
  readonly since: number
  /** Number of milestones that were announced. */
  readonly announced: number
}

/** Times of failing, in ms, that are announced to the subscriber. */
const failingMilestones: ReadonlyArray<number> = [hourMs, dayMs]

/** Time of failing after which a callback is paused, in ms. */
export const maxFailingMs = 5 * dayMs

/** Time of failing after which the lease of a stranger's subscription ends, in ms. */
export const maxStrangerFailingMs = dayMs

/** The time of the next announcement, epoch ms; undefined after the last one. */
export const nextMilestoneAt = ({ announced, since }: Failing): number | undefined => {
  const milestone = failingMilestones[announced]
  return milestone === undefined ? undefined : since + milestone
}

/** The same callback with all milestones announced that lie before `now`. A `since` of a clock that was ahead has none. */
export const passMilestones = (failing: Failing, now: number): Failing => ({
  ...failing,
  announced: Math.max(
    failing.announced,
    failingMilestones.filter((milestone) => failing.since + milestone <= now).length
  )
})
