import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ClusterError, Runner, RunnerAddress, Runners, RunnerStorage } from "effect/cluster"
import { TestClock } from "effect/testing"
import * as RunnerWatch from "#actors/cluster/RunnerWatch.ts"

const addresses = [1, 2, 3, 4, 5].map((port) => RunnerAddress.make("10.0.0.1", port))
const [self, second] = addresses as [RunnerAddress.RunnerAddress, RunnerAddress.RunnerAddress]

type Ping = "answered" | "refused" | "silent"

/** Five runners; those without an entry in `pings` answer. */
const makeCluster = () => {
  const pings = new Map<RunnerAddress.RunnerAddress, Ping>()
  const pinged: Array<number> = []
  const dead = new Set<RunnerAddress.RunnerAddress>()
  const layer = Layer.mergeAll(
    Layer.mock(Runners.Runners, {
      ping: (address) => {
        pinged.push(address.port)
        const ping = pings.get(address)
        return ping === "silent"
          ? Effect.never
          : ping === "refused"
          ? Effect.fail(new ClusterError.RunnerUnavailable({ address }))
          : Effect.void
      }
    }),
    Layer.mock(RunnerStorage.RunnerStorage, {
      getRunners: Effect.sync(() =>
        addresses.map((address) => [Runner.make({ address, groups: [], weight: 1 }), !dead.has(address)] as const)
      ),
      setRunnerHealth: (address) => Effect.sync(() => void dead.add(address))
    })
  )
  return { pings, pinged, dead, watch: Layer.build(RunnerWatch.layer(self).pipe(Layer.provide(layer))) }
}

describe("a runner that watches the next ones", () => {
  it.effect("reports a runner that refuses three pings in a row, in 0.6 s", () =>
    Effect.gen(function*() {
      const { dead, pings, watch } = makeCluster()
      yield* watch
      yield* TestClock.adjust("1 second")
      pings.set(second, "refused")
      yield* TestClock.adjust("200 millis")
      yield* TestClock.adjust("599 millis")
      assert.deepStrictEqual([...dead], [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([...dead], [second])
    }))

  it.effect("does not report a silent runner, nor one that answers in between", () =>
    Effect.gen(function*() {
      const { dead, pings, watch } = makeCluster()
      yield* watch
      for (const between of ["answered", "silent", "answered", "silent"] as const) {
        pings.set(second, "refused")
        yield* TestClock.adjust("550 millis")
        pings.set(second, between)
        yield* TestClock.adjust("2 seconds")
      }
      pings.set(second, "silent")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([...dead], [])
    }))

  it.effect("reports an unreachable runner once while the cluster calls it healthy", () =>
    Effect.gen(function*() {
      const { dead, pings, watch } = makeCluster()
      pings.set(second, "refused")
      yield* watch
      const reports: Array<boolean> = []
      for (let i = 0; i < 100; i++) {
        yield* TestClock.adjust("100 millis")
        reports.push(dead.delete(second))
      }
      assert.strictEqual(reports.filter(Boolean).length, 1)
    }))

  it.effect("watches the next three in the circle, and the one after a dead one", () =>
    Effect.gen(function*() {
      const ports = (own: number, healthy: ReadonlyArray<number>) =>
        RunnerWatch.selectWatched(
          addresses[own - 1] ?? self,
          addresses.filter(({ port }) => healthy.includes(port)).toReversed()
        ).map(({ port }) => port)
      assert.deepStrictEqual(ports(1, [1, 2, 3, 4, 5]), [2, 3, 4])
      assert.deepStrictEqual(ports(4, [1, 2, 3, 4, 5]), [5, 1, 2])
      assert.deepStrictEqual(ports(1, [1, 3, 4, 5]), [3, 4, 5])
      assert.deepStrictEqual(ports(1, [1, 5]), [5])
      assert.deepStrictEqual(ports(1, [2, 3]), [])
      const { pinged, watch } = makeCluster()
      yield* watch
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(pinged, [2, 3, 4])
    }))
})
