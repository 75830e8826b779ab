import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { RunnerAddress, RunnerStorage, ShardId } from "effect/cluster"
import { startUnderLease } from "#actors/cluster/Partition.ts"
import { type PartitionActors, PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import * as ShardLeaseLayer from "#actors/cluster/ShardLeaseLayer.ts"

const here = RunnerAddress.make("127.0.0.1", 1)
const shard = ShardId.make("default", 1)

/** A database that grants each lock, and knows none of them afterwards. */
const storage = Layer.mock(RunnerStorage.RunnerStorage, {
  acquire: (_, shards) => Effect.sync(() => [...shards]),
  refresh: () => Effect.succeed([])
})

/** Starts a partition. During its first start, the database takes the lock away, and `next` runs. */
const startDuringLoss = (
  next: (storage: RunnerStorage.RunnerStorage["Service"]) => Effect.Effect<unknown, unknown>
) => {
  const events: Array<string> = []
  const starter = Layer.effect(
    PartitionStarter,
    Effect.map(RunnerStorage.RunnerStorage, (storage) =>
      PartitionStarter.of({
        start: Effect.fnUntraced(function*(partition, lease) {
          const start = events.length
          events.push(`start of ${partition}, held: ${lease?.isHeld()}`)
          yield* Effect.addFinalizer(() => Effect.sync(() => void events.push("end")))
          if (start === 0) yield* Effect.orDie(Effect.andThen(storage.refresh(here, [shard]), next(storage)))
          return { start } as unknown as PartitionActors
        })
      }))
  )
  const layer = starter.pipe(Layer.provideMerge(ShardLeaseLayer.layer), Layer.provide(storage))
  return Effect.gen(function*() {
    yield* RunnerStorage.RunnerStorage.use(({ acquire }) => acquire(here, [shard]))
    const actors: unknown = yield* startUnderLease(30, shard)
    return { actors, events: [...events] }
  }).pipe(Effect.scoped, Effect.provide(layer))
}

describe("a partition whose shard is lost while it starts", () => {
  it.effect("ends its actors and starts again under the next lock", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* startDuringLoss(({ acquire }) => acquire(here, [shard])), {
        actors: { start: 2 },
        events: ["start of 30, held: true", "end", "start of 30, held: true"]
      })
    }))

  it.effect("holds no lease before the next lock", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* startDuringLoss(() => Effect.void), {
        actors: { start: 2 },
        events: ["start of 30, held: true", "end", "start of 30, held: false"]
      })
    }))
})
