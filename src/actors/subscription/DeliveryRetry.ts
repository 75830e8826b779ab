import { Duration, Effect, Exit, Schedule } from "effect"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { plannedAttempt, type RetrySchedule } from "#domain/delivery/Retry.ts"

/** Waits 5, 10 and 15 s, then gives up. A recovery or a retrieve gets dropped notifications. */
const short = Schedule.recurs(3).pipe(
  Schedule.addDelay(({ attempt }) => Effect.succeed(Duration.seconds(5 * attempt)))
)

const dayWaits: ReadonlyArray<Duration.Duration> = [
  ...[5, 10, 15].map(Duration.seconds),
  ...[1, 5, 15].map(Duration.minutes),
  ...[1, 3, 6, 12].map(Duration.hours)
]

/** Waits 5, 10, 15 s, 1, 5, 15 min, 1, 3, 6, 12 h. The last wait repeats until the delivery has waited for 3 days. */
const days = Schedule.recurs(dayWaits.length).pipe(
  Schedule.addDelay(({ attempt }) => Effect.succeed(dayWaits[attempt - 1] ?? Duration.hours(12)))
)

/** Default of the hub face, without a retrieve: waits 5, 10, 20, 40 … 40,960 s, then gives up. All 14 waits together take 22 h 45 min. */
const hub = Schedule.exponential("5 seconds").pipe(Schedule.upTo({ times: 14 }))

/** The retries of a delivery by name. */
export const deliveryRetry: { readonly [schedule in RetrySchedule]: Schedule.Schedule<unknown> } = { short, days, hub }

/** The fields of a delivery that tell the time of its next attempt. */
export type PlannedDelivery = Pick<Delivery, "attempt" | "dueAt" | "requestedWait">

/**
 * The steps of the retry schedules.
 *
 * The outbox stores the step of a delivery as its `attempt`, the number of failed attempts. After a restart, the next owner continues there.
 * `failingMs` is the time for which the callback has failed: the first failure of the next delivery does not start a new row of short waits.
 */
export interface DeliveryRetrySteps {
  /** Wait after so many failed attempts, in ms. Undefined when the schedule has ended. */
  readonly waitAfter: (schedule: RetrySchedule, failed: number, failingMs: number) => number | undefined
  /** Epoch ms of the next attempt of a stored delivery. */
  readonly nextAttemptAt: (
    schedule: RetrySchedule,
    delivery: PlannedDelivery,
    failingMs: number,
    now: number
  ) => number
}

/** Runs each schedule once, so that a failed delivery only looks its wait up. */
export const makeDeliveryRetrySteps = Effect.gen(function*() {
  const steps = {
    short: stepsOf(yield* waitsOf(deliveryRetry.short), { repeats: false, probes: false }),
    days: stepsOf(yield* waitsOf(deliveryRetry.days), { repeats: true, probes: true }),
    hub: stepsOf(yield* waitsOf(deliveryRetry.hub), { repeats: false, probes: true })
  }
  const waitAfter = (schedule: RetrySchedule, failed: number, failingMs: number) => steps[schedule](failed, failingMs)
  return {
    waitAfter,
    nextAttemptAt: (schedule, { attempt, dueAt, requestedWait = 0 }, failingMs, now) => {
      const wait = attempt === 0 ? 0 : waitAfter(schedule, attempt, failingMs) ?? 0
      return plannedAttempt(Math.max(wait, requestedWait), dueAt, now)
    }
  } satisfies DeliveryRetrySteps
})

/**
 * A function from failed attempts to the next wait. `repeats`: the last wait repeats. `probes`: the waits follow the time of failing too.
 *
 * A callback is at the step that half of its time of failing has reached. Half, because the attempts take time themselves: the waits of the
 * first delivery so stay as its schedule has them.
 */
const stepsOf = (
  waits: ReadonlyArray<number>,
  { probes, repeats }: { readonly repeats: boolean; readonly probes: boolean }
) =>
(failed: number, failingMs: number): number | undefined => {
  if (failed > waits.length && !repeats) return undefined
  const step = probes ? Math.max(failed, 1 + countPassed(waits, failingMs / 2)) : failed
  return waits[Math.min(step, waits.length) - 1]
}

/** Number of waits that end within `ms`, one after the other. */
const countPassed = (waits: ReadonlyArray<number>, ms: number): number => {
  let sum = 0
  const next = waits.findIndex((wait) => (sum += wait) > ms)
  return next < 0 ? waits.length : next
}

const waitsOf = Effect.fnUntraced(function*(schedule: Schedule.Schedule<unknown>) {
  const step = yield* Schedule.toStep(schedule)
  const waits: Array<number> = []
  for (;;) {
    const next = yield* Effect.exit(step(0, undefined))
    if (Exit.isFailure(next)) return waits
    waits.push(Duration.toMillis(next.value[1]))
  }
})
