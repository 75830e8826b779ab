import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { RunnerBoard } from "#domain/ports/RunnerBoard.ts"
import { maxSilenceMs, type RunnerReport } from "#domain/RunnerReport.ts"
import { at, type Stores, unique } from "#test/support/StoreFixture.ts"

/** Promises of every `RunnerBoard`. */
export const runnerBoardSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("RunnerBoard", () => {
    it.effect("keeps the last report of each runner, until the runner stops or is silent for a day", () =>
      Effect.gen(function*() {
        const { list, remove, report } = yield* RunnerBoard
        const [a, b] = [unique("a.example:1"), unique("b.example:1")]
        const full: RunnerReport = {
          name: a,
          version: "1.2.3",
          startedAt: 500,
          partitions: 128,
          healthy: 7,
          failing: 2,
          late: 1,
          cpu: 0.25,
          eventLoop: 0.125,
          memory: 5_000_000_000
        }
        const traffic = { polls: 60, delivered: 30, failedDeliveries: 3 }
        const mine = Effect.map(list(200), (runners) => runners.filter(({ name }) => name === a || name === b))
        yield* at(1_000)(report({ ...full, traffic }))
        yield* at(2_000)(report({ ...full, name: b }))
        assert.deepStrictEqual(yield* mine, [
          { ...full, traffic, seenAt: 1_000 },
          { ...full, name: b, seenAt: 2_000 }
        ])
        const later = { ...full, healthy: 8, memory: 1, traffic: { polls: 0, delivered: 0, failedDeliveries: 0 } }
        yield* at(3_000)(report(later))
        assert.deepStrictEqual((yield* mine)[0], { ...later, seenAt: 3_000 })
        yield* at(2_000 + maxSilenceMs)(report(full))
        assert.deepStrictEqual((yield* mine).map(({ name, seenAt }) => [name, seenAt]), [
          [a, 2_000 + maxSilenceMs],
          [b, 2_000]
        ])
        yield* at(2_001 + maxSilenceMs)(report(full))
        assert.deepStrictEqual((yield* mine).map(({ name }) => name), [a])
        assert.strictEqual((yield* list(1)).length, 1)
        yield* remove(a)
        assert.deepStrictEqual(yield* mine, [])
      }))
  })
}
