import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
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
import { Partitions } from "#actors/cluster/Partitions.ts"
import * as PartitionsLayer from "#actors/cluster/PartitionsLayer.ts"
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
  const pinged: Array<number> = []
  const resources = { tell: (id: number) => Effect.sync(() => void pinged.push(id)) }
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
      const actors = { resources } as unknown as PartitionActors
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
  const layer = Layer.mergeAll(layerWakePartitions, Partition.layer, PartitionsLayer.layer).pipe(
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
  return { database, events, layer, newestLease: () => leases.at(-1), pinged }
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

/** Fails for a call of the cluster, which is not synchronous. */
const completeNow = (effect: Effect.Effect<void>): void => Effect.runSync(effect)

describe("a ping of a resource", () => {
  it.effect("waits for the start of its partition, and is a message once the partition is awake on this runner", () => {
    const { database, layer, pinged } = makeRunner()
    return Effect.gen(function*() {
      const partitions = yield* Partitions
      database.answers = false
      yield* pass(2)
      const early = yield* Effect.forkChild(partitions.ping(partition, 5))
      yield* pass(1)
      assert.deepStrictEqual(pinged, [])
      database.answers = true
      yield* pass(1)
      yield* Fiber.join(early)
      assert.deepStrictEqual(pinged, [5])
      completeNow(partitions.ping(partition, 6))
      assert.deepStrictEqual(pinged, [5, 6])
    }).pipe(Effect.provide(layer))
  })
})
