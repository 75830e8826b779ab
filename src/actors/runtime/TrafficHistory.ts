import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { minuteMs } from "#domain/Time.ts"
import { readCounts, type RunnerCounts } from "./Metrics.ts"
import { superviseLoop } from "./Supervision.ts"

/** Counts of one minute, of this runner. */
export interface TrafficMinute {
  /** Epoch ms of its end. */
  readonly at: number
  readonly entries: number
  readonly delivered: number
  readonly failedDeliveries: number
  readonly polls: number
  readonly failedPolls: number
  /** Seconds within which 95 % of the deliveries were accepted, rounded up to a bound of the metric; undefined without a delivery. */
  readonly deliveryLag?: number
  /** The same for the starts of polls behind their planned time. */
  readonly pollLateness?: number
}

/** Kept minutes: a day. */
const maxMinutes = 24 * 60

/** The traffic of this runner per minute, in memory. */
export class TrafficHistory extends Context.Service<TrafficHistory, {
  /** Oldest first, at most `maxMinutes`. */
  readonly minutes: Effect.Effect<ReadonlyArray<TrafficMinute>>
  /** The present counts since the start of the runner. */
  readonly totals: Effect.Effect<RunnerCounts>
}>()("windhover/actors/runtime/TrafficHistory") {}

/** Reads the metrics once a minute, so that polls and deliveries count nothing of their own. */
export const layer = Layer.effect(
  TrafficHistory,
  Effect.gen(function*() {
    const minutes: Array<TrafficMinute> = []
    let last = yield* readCounts
    const sample = Effect.gen(function*() {
      const counts = yield* readCounts
      minutes.push(minuteOf(last, counts, yield* Clock.currentTimeMillis))
      if (minutes.length > maxMinutes) minutes.shift()
      last = counts
    })
    yield* superviseLoop(
      "traffic per minute",
      Effect.delay(sample, minuteMs),
      Schedule.forever
    )
    return TrafficHistory.of({ minutes: Effect.sync(() => minutes.slice()), totals: readCounts })
  })
)

const minuteOf = (before: RunnerCounts, after: RunnerCounts, at: number): TrafficMinute => {
  const deliveryLag = percentile95(before.deliveryLag, after.deliveryLag)
  const pollLateness = percentile95(before.pollLateness, after.pollLateness)
  return {
    at,
    entries: after.entries - before.entries,
    delivered: after.delivered - before.delivered,
    failedDeliveries: after.failedDeliveries - before.failedDeliveries,
    polls: after.polls - before.polls,
    failedPolls: after.failedPolls - before.failedPolls,
    ...(deliveryLag !== undefined && { deliveryLag }),
    ...(pollLateness !== undefined && { pollLateness })
  }
}

type Buckets = RunnerCounts["deliveryLag"]

/** The bound that 95 % of the new observations do not exceed. Buckets are cumulative. */
const percentile95 = (before: Buckets, after: Buckets): number | undefined => {
  const counts = after.map(([bound, count], i) => [bound, count - (before[i]?.[1] ?? 0)] as const)
  const total = counts.at(-1)?.[1] ?? 0
  if (total <= 0) return undefined
  return counts.find(([, count]) => count >= total * 0.95)?.[0]
}
