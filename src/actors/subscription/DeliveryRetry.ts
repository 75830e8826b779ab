import { Duration, Effect, Exit, Schedule } from "effect"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { plannedAttempt } from "#domain/delivery/Delivery.ts"
import type { Face } from "#domain/Subscription.ts"

/** API face: waits 5, 10 and 15 s, then gives up. A retrieve recovers dropped notifications. */
const apiRetry = Schedule.recurs(3).pipe(
  Schedule.addDelay(({ attempt }) => Effect.succeed(Duration.seconds(5 * attempt)))
)

/** Hub face, without a retrieve: waits 5, 10, 20, 40 … 40,960 s, then gives up. All 14 waits together take 22 h 45 min. */
const hubRetry = Schedule.exponential("5 seconds").pipe(Schedule.upTo({ times: 14 }))

/** The retries of a delivery by face. A delivery is dropped when its schedule ends. */
export const deliveryRetry: { readonly [face in Face]: Schedule.Schedule<unknown> } = { api: apiRetry, hub: hubRetry }

/** The fields of a delivery that tell the time of its next attempt. */
export type PlannedDelivery = Pick<Delivery, "attempt" | "dueAt" | "requestedWait">

/**
 * The steps of the retry schedules.
 *
 * The outbox stores the step of a delivery as its `attempt`, the number of failed attempts. After a restart, the next owner continues there.
 */
export interface DeliveryRetrySteps {
  /** Wait after so many failed attempts, in ms. Undefined when the schedule has ended. */
  readonly waitAfter: (face: Face, failed: number) => number | undefined
  /** Epoch ms of the next attempt of a stored delivery. */
  readonly nextAttemptAt: (face: Face, delivery: PlannedDelivery, now: number) => number
}

/** Runs each schedule once, so that a failed delivery only looks its wait up. */
export const makeDeliveryRetrySteps = Effect.gen(function*() {
  const waits = { api: yield* waitsOf(deliveryRetry.api), hub: yield* waitsOf(deliveryRetry.hub) }
  const waitAfter = (face: Face, failed: number) => waits[face][failed - 1]
  return {
    waitAfter,
    nextAttemptAt: (face, { attempt, dueAt, requestedWait = 0 }, now) =>
      plannedAttempt(Math.max(waitAfter(face, attempt) ?? 0, requestedWait), dueAt, now)
  } satisfies DeliveryRetrySteps
})

const waitsOf = Effect.fnUntraced(function*(schedule: Schedule.Schedule<unknown>) {
  const step = yield* Schedule.toStep(schedule)
  const waits: Array<number> = []
  for (;;) {
    const next = yield* Effect.exit(step(0, undefined))
    if (Exit.isFailure(next)) return waits
    waits.push(Duration.toMillis(next.value[1]))
  }
})
