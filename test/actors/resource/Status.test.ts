import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { feed, lines } from "#test/support/Core.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import { statusOnly } from "#test/support/World.ts"

describe("the maintenance of a resource", () => {
  it.effect("runs once a day, also at an unchanged poll, and counts the entries of the day", () =>
    Effect.gen(function*() {
      const { world } = yield* watchTopics()
      world.publish(feed, ["first"])
      yield* TestClock.adjust("1 hour")
      const begun = yield* loadState(feed)
      assert.deepStrictEqual([begun.velocity, begun.entriesSinceMaintenance], [undefined, 0])
      world.publish(feed, ["d", "c", "b", "first"])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* loadState(feed)).entriesSinceMaintenance, 3)
      world.serve(feed, () => Effect.succeed(statusOnly(304)))
      yield* TestClock.adjust("23 hours")
      const { entriesSinceMaintenance, lastMaintenanceAt, popularity, velocity } = yield* loadState(feed)
      assert.closeTo(velocity ?? 0, 3, 0.1)
      assert.closeTo(lastMaintenanceAt ?? 0, 86_400_000, 900_000)
      assert.deepStrictEqual([entriesSinceMaintenance, popularity], [0, 0.3])
    }).pipe(Effect.provide(layerPartition({ maxResident: 0 }))))

  it.effect("rates titles by their words when the setting is on, and removes the rating when it is off", () =>
    Effect.gen(function*() {
      const { world } = yield* watchTopics()
      world.publish(feed, ["porn", "weather", "sports"])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* loadState(feed)).pornRank, 0.25) // the header is a text, too
      world.publish(feed, ["hentai", "milf", "porn", "weather", "sports"])
      yield* TestClock.adjust("1 hour")
      assert.match(Buffer.from(world.parcels[0]?.body ?? []).toString(), /<porn_rank>0.25<\/porn_rank>/)
      world.serve(feed, () => Effect.succeed(statusOnly(304)))
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* loadState(feed)).pornRank, 0.5)
      assert.strictEqual(lines(world, "post").length, 1)
    }).pipe(Effect.provide(layerPartition({ pornRank: true }))))

  it.effect("reports no rating while the setting is off", () =>
    Effect.gen(function*() {
      const { world } = yield* watchTopics()
      world.publish(feed, ["porn"])
      yield* TestClock.adjust("1 hour")
      world.publish(feed, ["porn 2", "porn"])
      yield* TestClock.adjust("1 hour")
      const body = Buffer.from(world.parcels[0]?.body ?? []).toString()
      assert.include(body, "<popularity>0.3</popularity>")
      assert.notMatch(body, /porn_rank|generated_ids|velocity/)
    }).pipe(Effect.provide(layerPartition())))
})
