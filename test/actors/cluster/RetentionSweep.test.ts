import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as RetentionSweep from "#actors/cluster/RetentionSweep.ts"
import { AwakePartitions, type PartitionActors } from "#actors/cluster/PartitionStarter.ts"
import { Retention } from "#domain/ports/Retention.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import * as Settings from "#layers/Settings.ts"

describe("RetentionSweep", () => {
  it.effect("visits the partitions of this runner in a circle, a step at a time", () =>
    Effect.gen(function*() {
      const steps: Array<string> = []
      const left = new Map([[3, 2]])
      let hubsLeft = 1
      let logLeft = 1
      const retention = Layer.mock(Retention, {
        pruneDeliveries: (partition, before, limit) =>
          Effect.sync(() => {
            steps.push(`${partition}: deliveries before ${before}`)
            const more = left.get(partition) ?? 0
            left.set(partition, more - 1)
            return more > 0 ? limit : 0
          }),
        pruneEntries: (partition, keep, after) =>
          Effect.sync(() => {
            steps.push(`${partition}: entries beyond ${keep} behind ${after}`)
            return { deleted: 0, next: after < 20 && partition === 7 ? after + 10 : undefined }
          }),
        pruneResources: (partition, before, limit) =>
          Effect.sync(() => {
            steps.push(`${partition}: ${limit} resources before ${before}`)
            return { deleted: partition === 7 ? [11] : [], isFinished: true }
          }),
        pruneDeliveryLog: (before, limit) =>
          Effect.sync(() => {
            steps.push(`log before ${before}`)
            return logLeft-- > 0 ? limit : 0
          }),
        pruneHubs: (before, limit) =>
          Effect.sync(() => {
            steps.push(`hubs before ${before}`)
            return hubsLeft-- > 0 ? limit : 0
          })
      })
      const awakePartitions = new Map<number, PartitionActors>()
      yield* Layer.build(RetentionSweep.layer.pipe(
        Layer.provide([
          retention,
          Layer.succeed(AwakePartitions, awakePartitions),
          Settings.layerValues({ keepDroppedDays: 1, keepEntries: 50, keepUnwatchedDays: 2 })
        ])
      ))
      yield* TestClock.setTime(31 * 86_400_000)
      assert.deepStrictEqual(steps, []) // no partition is awake
      const stopped: Array<string> = []
      const stop = (group: string) => (id: number) => Effect.sync(() => void stopped.push(`${group} ${id}`))
      const actors = {
        resources: { stop: stop("resource") },
        hubSubscriptions: { stop: stop("hub subscription") },
        hubDirectory: { delete: (id: number) => void stopped.push(`directory ${id}`) }
      } as unknown as PartitionActors // the sweep reads the keys, and stops the actors of deleted resources
      for (const partition of [7, 3]) awakePartitions.set(partition, actors)
      yield* TestClock.adjust("12 minutes")
      const stepsOf = (partition: number) =>
        steps.filter((step) => step.startsWith(`${partition}:`)).map((step) => step.slice(3))
      assert.deepStrictEqual(stepsOf(7).map((step) => step.replace(/before .*/, "")), [
        "deliveries ",
        "entries beyond 50 behind 0",
        "entries beyond 50 behind 10",
        "entries beyond 50 behind 20",
        "100 resources "
      ])
      assert.deepStrictEqual(stopped, ["directory 11", "resource 11", "hub subscription 11"])
      assert.deepStrictEqual(stepsOf(3).map((step) => step.replace(/before .*/, "")), [
        "deliveries ",
        "deliveries ",
        "deliveries ",
        "entries beyond 50 behind 0",
        "100 resources "
      ])
      const resourceSteps = steps.filter((step) => step.includes("resources")).map((step) => Number(step.slice(24)))
      for (const before of resourceSteps) {
        assert.isTrue(before >= 29 * 86_400_000 && before < 29 * 86_400_000 + 12 * 60_000)
      }
      const logSteps = steps.filter((step) => step.startsWith("log")).map((step) => Number(step.slice(11)))
      assert.strictEqual(logSteps.length, 3)
      for (const before of logSteps) {
        assert.isTrue(before >= 30 * 86_400_000 && before < 30 * 86_400_000 + 12 * 60_000)
      }
      const hubSteps = steps.filter((step) => step.startsWith("hubs")).map((step) => Number(step.slice(12)))
      assert.strictEqual(hubSteps.length, 3) // a second step where the first one hit its maximum
      for (const before of hubSteps) assert.isTrue(before >= 86_400_000 && before < 86_400_000 + 12 * 60_000)
    }))

  it.effect("resumes after an outage of the database with the partition that it left", () =>
    Effect.gen(function*() {
      const calls: Array<string> = []
      let isDown = true
      const retention = Layer.mock(Retention, {
        pruneDeliveries: (_partition, before) =>
          Effect.suspend(() => {
            calls.push(`${isDown ? "away" : "there"} ${before}`)
            return isDown
              ? Effect.fail(new StoreError({ reason: { _tag: "Unavailable", message: "Connection refused." } }))
              : Effect.succeed(0)
          }),
        pruneEntries: () => Effect.succeed({ deleted: 0, next: undefined }),
        pruneResources: () => Effect.succeed({ deleted: [], isFinished: true }),
        pruneDeliveryLog: () => Effect.succeed(0),
        pruneHubs: () => Effect.succeed(0)
      })
      const awakePartitions = new Map([[5, {} as PartitionActors]])
      yield* TestClock.setTime(86_400_000)
      yield* Layer.build(RetentionSweep.layer.pipe(
        Layer.provide([
          retention,
          Layer.succeed(AwakePartitions, awakePartitions),
          Settings.layerValues({ keepDroppedDays: 1 })
        ])
      ))
      yield* TestClock.adjust("1 second")
      isDown = false
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual(calls, ["away 0", "there 337500"])
    }))
})
