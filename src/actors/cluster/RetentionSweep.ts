import { Clock, Effect, Layer, Random, Schedule } from "effect"
import { Retention } from "#domain/ports/Retention.ts"
import { Settings, type SettingsValues } from "#domain/ports/Settings.ts"
import { type StoreError, warnOfStoreError } from "#domain/ports/StoreError.ts"
import { partitionCount } from "#domain/Topic.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { AwakePartitions, type PartitionActors } from "./PartitionStarter.ts"
import { dayMs } from "#domain/Time.ts"

/** Time between two partitions, in ms: a runner with all partitions sweeps each once a day, one every five and a half minutes. */
const partitionSpacingMs = dayMs / partitionCount

/** Retention of the counts of an unused hub, in ms. */
const hubRetentionMs = 30 * dayMs

/** Maximum of deliveries, or hubs, that one statement deletes. */
const maxDeleted = 2_000

/** Pause between two statements, in ms: polls and deliveries go first. */
const pauseMs = 200

/** Repeats a step, with a pause after each, until a step returns no next position. */
const repeatFrom = <A>(first: A, step: (position: A) => Effect.Effect<A | undefined, StoreError>) =>
  Effect.gen(function*() {
    for (let position: A | undefined = first; position !== undefined;) {
      position = yield* step(position)
      if (position !== undefined) yield* Effect.sleep(pauseMs)
    }
  })

/** Repeats a deletion until a statement deletes fewer rows than its maximum. */
const repeatDeletion = (deletion: Effect.Effect<number, StoreError>) =>
  repeatFrom(0, () => Effect.map(deletion, (deleted) => deleted < maxDeleted ? undefined : deleted))

/** Resources that one statement deletes, at most. */
const maxResources = 100

/** Deletions of resources in one visit of a partition, at most. The next visit deletes the rest. */
const maxResourceSteps = 1_000

/** Deletes the resources that have had no subscription for their retention, and stops their actors. */
const sweepResources = Effect.fnUntraced(function*(
  retention: Retention["Service"],
  partition: number,
  actors: PartitionActors | undefined,
  before: number
) {
  yield* repeatFrom(1, (steps) =>
    Effect.gen(function*() {
      const { deleted, isFinished } = yield* retention.pruneResources(partition, before, maxResources)
      for (const id of deleted) {
        actors?.hubDirectory.delete(id)
        yield* actors?.resources.stop(id) ?? Effect.void
        yield* actors?.hubSubscriptions.stop(id) ?? Effect.void
      }
      return isFinished || steps === maxResourceSteps ? undefined : steps + 1
    }))
})

/** Deletes expired deliveries, entries, resources and hubs of one partition. */
const sweepPartition = Effect.fn("RetentionSweep.sweepPartition")(function*(
  retention: Retention["Service"],
  partition: number,
  actors: PartitionActors | undefined,
  { keepDroppedDays, keepEntries, keepUnwatchedDays }: SettingsValues
) {
  const now = yield* Clock.currentTimeMillis
  yield* repeatDeletion(retention.pruneDeliveries(partition, now - keepDroppedDays * dayMs, maxDeleted))
  yield* repeatFrom(0, (after) => Effect.map(retention.pruneEntries(partition, keepEntries, after), ({ next }) => next))
  yield* sweepResources(retention, partition, actors, now - keepUnwatchedDays * dayMs)
  // Attempts and hubs are in no partition's share, so each partition sweeps all of them. Mostly none has expired.
  yield* repeatDeletion(retention.pruneDeliveryLog(now - keepDroppedDays * dayMs, maxDeleted))
  yield* repeatDeletion(retention.pruneHubs(now - hubRetentionMs, maxDeleted))
})

/** The awake partition after another one, in a circle; undefined when none is awake. */
const nextPartition = (awake: Iterable<number>, last: number): number | undefined => {
  const sorted = [...awake].toSorted((a, b) => a - b)
  return sorted.find((partition) => partition > last) ?? sorted[0]
}

/**
 * Deletes expired rows, one awake partition after the other, so that the runners share the work.
 *
 * The first partition is random: a service that restarts every night would never reach the last one otherwise.
 */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const retention = yield* Retention
  const settings = yield* Settings
  const awake = yield* AwakePartitions
  let last = yield* Random.nextIntBetween(-1, partitionCount)
  const sweepNext = Effect.suspend(() => {
    const partition = nextPartition(awake.keys(), last)
    if (partition === undefined) return Effect.void
    last = partition
    return Effect.catchTag(
      sweepPartition(retention, partition, awake.get(partition), settings),
      "StoreError",
      (error) =>
        warnOfStoreError("Expired rows stay until the next sweep of their partition.")(error).pipe(
          Effect.annotateLogs({ partition })
        )
    )
  })
  yield* superviseLoop("retention", sweepNext, Schedule.spaced(partitionSpacingMs))
}))
