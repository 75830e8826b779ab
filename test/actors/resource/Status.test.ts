import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { feed, lines } from "#test/support/HubCalls.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import { statusOnly } from "#test/support/SimulatedWeb.ts"

describe("the maintenance of a resource", () => {
  it.effect("runs once a day, also at an unchanged poll, and counts the entries of the day", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      web.publish(feed, ["first"])
      yield* TestClock.adjust("1 hour")
      const begun = yield* loadState(feed)
      assert.deepStrictEqual([begun.velocity, begun.entriesSinceMaintenance], [undefined, 0])
      web.publish(feed, ["d", "c", "b", "first"])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* loadState(feed)).entriesSinceMaintenance, 3)
      web.serve(feed, () => Effect.succeed(statusOnly(304)))
      yield* TestClock.adjust("23 hours")
      const { entriesSinceMaintenance, lastMaintenanceAt, popularity, velocity } = yield* loadState(feed)
      assert.closeTo(velocity ?? 0, 3, 0.1)
      assert.closeTo(lastMaintenanceAt ?? 0, 86_400_000, 900_000)
      assert.deepStrictEqual([entriesSinceMaintenance, popularity], [0, 0.3])
    }).pipe(Effect.provide(layerPartition({ maxResident: 0 }))))

  it.effect("rates titles by their words when the setting is on, and removes the rating when it is off", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      web.publish(feed, ["porn", "weather", "sports"])
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* loadState(feed)).pornRank, 0.25) // the header is a text, too
      web.publish(feed, ["hentai", "milf", "porn", "weather", "sports"])
      yield* TestClock.adjust("1 hour")
      assert.match(Buffer.from(web.parcels[0]?.body ?? []).toString(), /<porn_rank>0.25<\/porn_rank>/)
      web.serve(feed, () => Effect.succeed(statusOnly(304)))
      yield* TestClock.adjust("1 day")
      assert.strictEqual((yield* loadState(feed)).pornRank, 0.5)
      assert.strictEqual(lines(web, "post").length, 1)
    }).pipe(Effect.provide(layerPartition({ pornRank: true }))))

  it.effect("reports no rating while the setting is off", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      web.publish(feed, ["porn"])
      yield* TestClock.adjust("1 hour")
      web.publish(feed, ["porn 2", "porn"])
      yield* TestClock.adjust("1 hour")
      const body = Buffer.from(web.parcels[0]?.body ?? []).toString()
      assert.include(body, "<popularity>0.3</popularity>")
      assert.notMatch(body, /porn_rank|generated_ids|velocity/)
    }).pipe(Effect.provide(layerPartition())))
})
