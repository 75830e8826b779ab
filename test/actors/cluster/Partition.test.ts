import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import {
  MessageStorage,
  RunnerAddress,
  RunnerHealth,
  Runners,
  RunnerStorage,
  Sharding,
  ShardingConfig
} from "effect/cluster"
import * as Partition from "#actors/cluster/Partition.ts"
import { AwakePartitions, type PartitionActors, PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import { layerOwnership, layerWakePartitions, shardingConfig } from "#actors/cluster/Runner.ts"
import * as ShardLeaseLayer from "#actors/cluster/ShardLeaseLayer.ts"
import type { ShardLease } from "#actors/runtime/ShardLease.ts"

const partition = 30

/** A runner whose database grants every lock. The starts and ends of one partition are recorded. */
const makeRunner = () => {
  const events: Array<string> = []
  const database = { losesLocks: false, answers: true, defects: 0, endsAfter: 0 }
  const leases: Array<ShardLease> = []
  const storage = Layer.effect(
    RunnerStorage.RunnerStorage,
    Effect.gen(function*() {
      const memory = yield* RunnerStorage.makeMemory
      return {
        ...memory,
        acquire: (_, shards) => Effect.sync(() => [...shards]),
        refresh: (_, shards) =>
          Effect.sync(() => {
            const held = database.losesLocks ? [] : [...shards]
            database.losesLocks = false
            return held
          })
      }
    })
  )
  const starter = Layer.succeed(PartitionStarter, {
    start: Effect.fnUntraced(function*(number, lease) {
      const actors = {} as PartitionActors
      if (number !== partition || lease === undefined) return actors
      const start = leases.push(lease)
      events.push(`start ${start}`)
      yield* Effect.addFinalizer(() =>
        Effect.andThen(Effect.sleep(database.endsAfter), Effect.sync(() => void events.push(`end ${start}`)))
      )
      if (database.defects-- > 0) return yield* Effect.die("a defect")
      while (!database.answers) yield* Effect.sleep("100 millis")
      events.push(`started ${start}`)
      return actors
    })
  })
  const layer = Layer.merge(layerWakePartitions, Partition.layer).pipe(
    Layer.provide([layerOwnership, starter]),
    Layer.provideMerge(AwakePartitions.layer),
    Layer.provide(Sharding.layer),
    Layer.provide([Runners.layerNoop, RunnerHealth.layerNoop]),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provide(ShardLeaseLayer.layer.pipe(Layer.provide(storage))),
    Layer.provide(
      ShardingConfig.layer({ ...shardingConfig, runnerAddress: Option.some(RunnerAddress.make("127.0.0.1", 1)) })
    )
  )
  return { database, events, layer, newestLease: () => leases.at(-1) }
}

/** In small steps, because the cluster waits for several things at once. */
const pass = (seconds: number) => Effect.repeat(TestClock.adjust("100 millis"), { times: seconds * 10 - 1 })

describe("a partition whose shard is lost and acquired again", () => {
  it.effect("ends with the lost lock and starts under the next one, also when it is still starting", () => {
    const { database, events, layer, newestLease } = makeRunner()
    return Effect.gen(function*() {
      const awake = yield* AwakePartitions
      database.answers = false
      database.endsAfter = 5000
      yield* pass(2)
      assert.deepStrictEqual([events, awake.has(partition)], [["start 1"], false])
      database.losesLocks = true
      yield* pass(12)
      database.answers = true
      yield* pass(2)
      assert.deepStrictEqual(events, ["start 1", "end 1", "start 2", "started 2"])
      assert.deepStrictEqual([awake.has(partition), newestLease()?.isHeld()], [true, true])
      database.losesLocks = true
      yield* pass(12)
      assert.deepStrictEqual(events.slice(4), ["end 2", "start 3", "started 3"])
      assert.deepStrictEqual([awake.has(partition), newestLease()?.isHeld()], [true, true])
    }).pipe(Effect.ensuring(Effect.sync(() => void (database.endsAfter = 0))), Effect.provide(layer))
  })

  it.effect("starts again after a defect of its start", () => {
    const { database, events, layer } = makeRunner()
    return Effect.gen(function*() {
      database.defects = 1
      yield* pass(8)
      assert.deepStrictEqual(events, ["start 1", "end 1", "start 2", "started 2"])
    }).pipe(Effect.provide(layer))
  })
})
