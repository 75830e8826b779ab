import { Clock, Context, Effect, Layer, Metric, Schedule } from "effect"
import * as EntityId from "effect/cluster/EntityId"
import * as Sharding from "effect/cluster/Sharding"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { partitionCount } from "#domain/Topic.ts"
import { describeHubs } from "#domain/websub/HubSubscription.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"
import { HubReliability } from "#actors/resource/HubReliability.ts"
import { lateAfterMs } from "#actors/resource/ResourceHealth.ts"
import { reportGauge } from "#actors/runtime/Metrics.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { Partition } from "./Partition.ts"
import { repeatUnansweredPings, wakeStalledSubscriptions } from "./PartitionRecovery.ts"
import { Ownership } from "./Partitions.ts"
import { AwakePartitions, type PartitionActors } from "./PartitionStarter.ts"
import { lockExpirationMs } from "./ShardLeaseLayer.ts"

/**
 * Timing of the cluster, for `ShardingConfig`. Partitions of a killed runner move after about 3 s, partitions of a vanished machine within 12 s.
 *
 * A lock outlives its owner by at most `shardLockExpiration`. The other intervals are short, so that this time decides.
 */
export const shardingConfig = {
  maxResidentEntities: "unbounded",
  shardLockExpiration: lockExpirationMs,
  shardLockRefreshInterval: "2 seconds",
  runnerHealthCheckInterval: "1 second",
  refreshAssignmentsInterval: "500 millis",
  entityMessagePollInterval: "1 second"
} as const

const allPartitions = Array.from({ length: partitionCount }, (_, partition) => partition)

export const layerOwnership = Layer.effect(
  Ownership,
  Effect.gen(function*() {
    const sharding = yield* Sharding.Sharding
    const awake = yield* AwakePartitions
    const owned = Effect.sync(() =>
      allPartitions.filter((partition) =>
        sharding.hasShardId(sharding.getShardId(EntityId.make(String(partition)), "default"))
      )
    )
    return Ownership.of({
      owned,
      ready: Effect.map(owned, (numbers) => numbers.length > 0 && numbers.every((number) => awake.has(number)))
    })
  })
)

/** Starts each owned partition that does not run, twice a second: a partition has to run even if no client calls it. */
export const layerWakePartitions = Layer.effectDiscard(Effect.gen(function*() {
  const { owned } = yield* Ownership
  const awake = yield* AwakePartitions
  const client = yield* Partition.client
  const wakeOwned = Effect.gen(function*() {
    const asleep = (yield* owned).filter((partition) => !awake.has(partition))
    yield* Effect.forEach(asleep, (partition) => Effect.ignore(client(String(partition)).Wake()), {
      concurrency: "unbounded", // so that the stores batch their statements
      discard: true
    })
  })
  yield* superviseLoop("starting partitions", wakeOwned, Schedule.spaced("500 millis"))
}))

/** Age from which a delivery or ping counts as lost, in ms: its owner has died, or missed the hint. */
const overdueMs = 30_000

/** Finds lost deliveries and pings every 5 s, and wakes their actors. */
export const layerOverdueSweep = Layer.effectDiscard(Effect.gen(function*() {
  const outbox = yield* Outbox
  const pings = yield* Pings
  const awake = yield* AwakePartitions
  const sweep = Effect.gen(function*() {
    const before = (yield* Clock.currentTimeMillis) - overdueMs
    yield* wakeStalledSubscriptions(outbox, awake, before)
    yield* repeatUnansweredPings(pings, awake, before)
  }).pipe(
    Effect.catchTag(
      "StoreError",
      warnOfStoreError("Overdue deliveries and pings could not be read; retrying in 5 s.")
    )
  )
  yield* superviseLoop("overdue deliveries", sweep, Schedule.spaced("5 seconds"))
}))

/** Exchanges the counts of hubs with the other runners every 10 s, and polls the resources of hubs that no longer push. */
export const layerHubReliability = Layer.effectDiscard(Effect.gen(function*() {
  const { enabled, synchronize } = yield* HubReliability
  const awake = yield* AwakePartitions
  const synchronizeAndPoll = Effect.gen(function*() {
    const silentHubs = yield* synchronize
    if (silentHubs.size === 0) return
    yield* Effect.logWarning("Hubs no longer push; their resources are polled at the usual rate.").pipe(
      Effect.annotateLogs({ hubs: describeHubs(silentHubs) })
    )
    yield* Effect.forEach(
      awake.values(),
      ({ hubDirectory, pollWithinMaxPeriod }) =>
        Effect.forEach(hubDirectory.resourcesRelyingOn(silentHubs), pollWithinMaxPeriod, { discard: true }),
      { discard: true }
    )
  })
  if (enabled) yield* superviseLoop("hub reliability", synchronizeAndPoll, Schedule.spaced("10 seconds"))
}))

const resourceGauge = Metric.gauge("windhover_resources", {
  description: "Watched resources of this runner, by the result of their last fetch"
})
const lateGauge = Metric.gauge("windhover_late_resources", {
  description: "Watched resources whose poll is more than a minute late"
})
const partitionGauge = Metric.gauge("windhover_partitions", { description: "Partitions that this runner holds" })

/** The watched resources of this runner. */
export interface ResourceCounts {
  readonly partitions: number
  readonly healthy: number
  readonly failing: number
  /** Resources whose poll is more than a minute late. */
  readonly late: number
}

/** Counts the watched resources of this runner, in memory. */
export class RunnerResources extends Context.Service<RunnerResources, {
  readonly count: Effect.Effect<ResourceCounts>
}>()("windhover/actors/cluster/Runner/RunnerResources") {}

const makeCount = Effect.gen(function*() {
  const awake = yield* AwakePartitions
  const clock = yield* Clock.Clock
  const sum = (count: (partition: PartitionActors) => number) => () => {
    let total = 0
    for (const partition of awake.values()) total += count(partition)
    return total
  }
  const failing = sum(({ resourceHealth }) => resourceHealth.failingCount)
  const all = sum(({ resources }) => resources.alarmCount)
  return {
    partitions: () => awake.size,
    failing,
    healthy: () => Math.max(all() - failing(), 0),
    late: sum((partition) => countLate(partition, clock.currentTimeMillisUnsafe()))
  }
})

export const layerResources = Layer.effect(
  RunnerResources,
  Effect.map(makeCount, ({ failing, healthy, late, partitions }) => ({
    count: Effect.sync(() => ({
      partitions: partitions(),
      healthy: healthy(),
      failing: failing(),
      late: late()
    }))
  }))
)

/** Reports the partitions of this runner and their resources. Each scrape adds up the counts of the partitions. */
export const layerMetrics = Layer.effectDiscard(Effect.gen(function*() {
  const { failing, healthy, late, partitions } = yield* makeCount
  yield* reportGauge(partitionGauge, partitions)
  yield* reportGauge(Metric.withAttributes(resourceGauge, { state: "working" }), healthy)
  yield* reportGauge(Metric.withAttributes(resourceGauge, { state: "failing" }), failing)
  yield* reportGauge(lateGauge, late)
}))

/** Resources that wait for a slot of the runner, and resources that wait for their host. */
const countLate = ({ resourceHealth, resources }: PartitionActors, now: number): number => {
  const before = now - lateAfterMs
  let count = resourceHealth.countWaitingSince(before)
  resources.forEachAlarmBefore(before, (id) => {
    if (!resourceHealth.isWaiting(id)) count++
  })
  return count
}
