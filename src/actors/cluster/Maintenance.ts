import { Clock, Effect, Layer, Random, Schedule } from "effect"
import { Retention } from "#domain/ports/Retention.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { partitions } from "#domain/Topic.ts"
import { AwakePartitions } from "./Partition.ts"
import { forever } from "./Runner.ts"

const day = 86_400_000

/** A runner that holds all partitions tidies each of them once a day: one every five and a half minutes. */
const spacing = day / partitions

/** What is known of publishers' hubs that are left is kept for so long after the last count, ms. */
const keepHubs = 30 * day

/** Deliveries, or hubs, that are deleted in one step. */
const batch = 2_000

/** Between two steps, ms: polls and deliveries go first. */
const pause = 200

/** Repeats a step until it says that nothing is left, with a pause after each. */
const stepwise = <A>(first: A, step: (at: A) => Effect.Effect<A | undefined, StoreError>) =>
  Effect.gen(function*() {
    for (let at: A | undefined = first; at !== undefined;) {
      at = yield* step(at)
      if (at !== undefined) yield* Effect.sleep(pause)
    }
  })

/** Repeats a step until it has deleted less than it may. */
const batchwise = (step: Effect.Effect<number, StoreError>) =>
  stepwise(0, () => Effect.map(step, (deleted) => deleted < batch ? undefined : deleted))

/** The held partition that comes after another one, round and round; undefined when none is held. */
const nextOf = (held: Iterable<number>, last: number): number | undefined => {
  const all = [...held].toSorted((a, b) => a - b)
  return all.find((partition) => partition > last) ?? all[0]
}

/**
 * Deletes what is not kept for ever: one held partition after the other, so that the work of several runners is shared like everything else.
 *
 * It starts with any of them, or a service that is restarted every night would never come to the last.
 */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const retention = yield* Retention
  const held = yield* AwakePartitions
  const { keepDropped, keepEntries } = yield* Settings
  let last = yield* Random.nextIntBetween(-1, partitions)

  const tidy = Effect.fn("Maintenance.tidy")(function*(partition: number) {
    const now = yield* Clock.currentTimeMillis
    yield* batchwise(retention.deliveries(partition, now - keepDropped * day, batch))
    yield* stepwise(0, (after) => Effect.map(retention.entries(partition, keepEntries, after), ({ next }) => next))
    // hubs belong to no partition; most times there is none to delete
    yield* batchwise(retention.hubs(now - keepHubs, batch))
  })

  const round = Effect.suspend(() => {
    const partition = nextOf(held.keys(), last)
    if (partition === undefined) return Effect.void
    last = partition
    return Effect.catchTag(
      tidy(partition),
      "StoreError",
      (error) => Effect.logWarning(`partition ${partition} is tidied another time: ${error.message}`)
    )
  })
  yield* forever("maintenance", round, Schedule.spaced(spacing))
}))
