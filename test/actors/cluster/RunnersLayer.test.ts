import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { RunnerResources } from "#actors/cluster/Runner.ts"
import { Runners } from "#actors/cluster/Runners.ts"
import * as RunnersLayer from "#actors/cluster/RunnersLayer.ts"
import { TrafficHistory, type TrafficMinute } from "#actors/runtime/TrafficHistory.ts"
import { ProcessLoad } from "#domain/ports/ProcessLoad.ts"
import { RunnerBoard } from "#domain/ports/RunnerBoard.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import type { RunnerReport, SeenRunner } from "#domain/RunnerReport.ts"
import * as Settings from "#layers/Settings.ts"

const minute: TrafficMinute = { at: 0, entries: 1, delivered: 30, failedDeliveries: 3, polls: 60, failedPolls: 0 }

const other: SeenRunner = {
  name: "z.example:1",
  version: "0.0.1",
  startedAt: 1,
  seenAt: 0,
  partitions: 100,
  healthy: 1,
  failing: 1,
  late: 1,
  cpu: 0.5,
  eventLoop: 0.5,
  memory: 5
}

/** A runner whose process uses a quarter of a core, and whose event loop is busy for an eighth of the time. */
const makeWorld = Effect.fnUntraced(function*(settings: Partial<SettingsValues>) {
  const calls: Array<RunnerReport | string> = []
  const world = {
    minutes: [] as ReadonlyArray<TrafficMinute>,
    isDown: false,
    others: [] as ReadonlyArray<SeenRunner>,
    idleFrom: Infinity
  }
  const call = <A>(value: RunnerReport | string, result: A) =>
    Effect.suspend(() => {
      calls.push(value)
      return world.isDown
        ? Effect.fail(new StoreError({ reason: { _tag: "Unavailable", message: "down" } }))
        : Effect.succeed(result)
    })
  const scope = yield* Scope.make()
  const now = TestClock.testClockWith((clock) => Effect.sync(() => clock.currentTimeMillisUnsafe()))
  const context = yield* Layer.buildWithScope(
    RunnersLayer.layer.pipe(Layer.provide([
      Layer.mock(RunnerResources, { count: Effect.succeed({ partitions: 156, healthy: 7, failing: 2, late: 1 }) }),
      Layer.mock(TrafficHistory, { minutes: Effect.sync(() => world.minutes) }),
      Layer.succeed(RunnerBoard, {
        report: (report) => call(report, undefined),
        remove: (name) => call(`remove ${name}`, undefined),
        list: (limit) => Effect.suspend(() => call(`list ${limit}`, world.others))
      }),
      Layer.succeed(ProcessLoad, {
        machine: "host-1",
        startedAt: 5,
        read: Effect.map(now, (ms) => {
          const worked = Math.min(ms, world.idleFrom)
          return { cpuMs: worked / 4, activeMs: worked / 8, idleMs: ms - worked / 8, memory: 1_000 }
        })
      }),
      Settings.layerValues(settings)
    ])),
    scope
  )
  const list = Runners.use((runners) => runners.list).pipe(Effect.provideContext(context))
  return { calls, list, world, stop: Scope.close(scope, Exit.void) }
})

const own = {
  version: "0.0.0",
  startedAt: 5,
  partitions: 156,
  healthy: 7,
  failing: 2,
  late: 1,
  memory: 1_000
}

describe("Runners", () => {
  it.effect("show a process alone with its present load, and write nothing", () =>
    Effect.gen(function*() {
      const { calls, list, stop, world } = yield* makeWorld({})
      const listed = { ...own, name: "host-1", isThis: true, isSilent: false }
      assert.deepStrictEqual(yield* list, [{ ...listed, seenAt: 0, cpu: 0, eventLoop: 0 }])
      yield* TestClock.adjust(5_000)
      world.minutes = [{ ...minute, polls: 1 }, minute]
      assert.deepStrictEqual(yield* list, [{
        ...listed,
        seenAt: 5_000,
        cpu: 0.25,
        eventLoop: 0.125,
        traffic: { polls: 60, delivered: 30, failedDeliveries: 3 }
      }])
      world.idleFrom = 25_000
      yield* TestClock.adjust(40_000) // the load is that of the last 20 to 40 s
      assert.deepStrictEqual((yield* list).map(({ cpu }) => cpu), [5_000 / 4 / 25_000])
      yield* TestClock.adjust(15_000)
      assert.deepStrictEqual((yield* list).map(({ cpu, eventLoop }) => [cpu, eventLoop]), [[0, 0]])
      yield* stop
      assert.deepStrictEqual(calls, [])
    }))

  it.effect("report themselves every 20 s in a cluster, list the others, and leave at a stop", () =>
    Effect.gen(function*() {
      const { calls, list, stop, world } = yield* makeWorld({ runnerAddress: { host: "m.example", port: 34431 } })
      const name = "m.example:34431"
      yield* TestClock.adjust(20_000)
      const reports = [0, 20_000].map((seenAt) => ({
        ...own,
        name,
        seenAt,
        cpu: seenAt === 0 ? 0 : 0.25,
        eventLoop: seenAt === 0 ? 0 : 0.125
      }))
      assert.deepStrictEqual(calls, reports)
      world.isDown = true
      yield* TestClock.adjust(60_000) // a database that does not answer ends no reports
      world.isDown = false
      yield* TestClock.adjust(20_000)
      assert.strictEqual(calls.length, 6)
      world.others = [{ ...other, seenAt: 34_999 }, { ...other, name: "a.example:1", seenAt: 35_000 }, {
        ...other,
        name
      }]
      assert.deepStrictEqual(
        (yield* list).map(({ isSilent, isThis, name, partitions }) => [name, isThis, isSilent, partitions]),
        [["a.example:1", false, false, 100], [name, true, false, 156], ["z.example:1", false, true, 100]]
      )
      yield* stop
      assert.deepStrictEqual(calls.slice(6), ["list 200", `remove ${name}`])
    }))
})
