import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { HostPauses } from "#domain/ports/HostPauses.ts"
import { at, type Stores, unique } from "#test/support/StoreFixture.ts"

/** What every `HostPauses` keeps of its promises. */
export const hostPausesSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("HostPauses", () => {
    it.effect("keeps pauses until they are over, each in its partition", () =>
      Effect.gen(function*() {
        const { save, ofPartition } = yield* HostPauses
        const [a, b] = [unique("a"), unique("b")]
        yield* at(1_000)(save(7, { host: a, since: 1_000, until: 5_000 }))
        yield* at(1_000)(save(7, { host: b, since: 1_000, until: 3_000 }))
        yield* at(1_000)(save(8, { host: a, since: 1_000, until: 4_000 }))
        const left = (now: number, partition: number) =>
          Effect.map(at(now)(ofPartition(partition)), (pauses) => pauses.filter(({ host }) => [a, b].includes(host)))
        assert.sameDeepMembers([...(yield* left(2_000, 7))], [
          { host: b, since: 1_000, until: 3_000 },
          { host: a, since: 1_000, until: 5_000 }
        ])
        assert.deepStrictEqual(yield* left(3_000, 7), [{ host: a, since: 1_000, until: 5_000 }])
        assert.deepStrictEqual(yield* left(2_000, 8), [{ host: a, since: 1_000, until: 4_000 }])
        assert.deepStrictEqual(yield* left(5_000, 7), [])
      }))

    it.effect("lets one that goes on begin when it began, and end at the later time; one that was over begins anew", () =>
      Effect.gen(function*() {
        const { save, ofPartition } = yield* HostPauses
        const host = unique("host")
        yield* at(1_000)(save(9, { host, since: 1_000, until: 5_000 }))
        yield* at(2_000)(save(9, { host, since: 2_000, until: 9_000 }))
        yield* at(3_000)(save(9, { host, since: 3_000, until: 4_000 }))
        assert.deepStrictEqual(yield* at(3_000)(ofPartition(9)), [{ host, since: 1_000, until: 9_000 }])
        yield* at(9_000)(save(9, { host, since: 9_000, until: 9_500 }))
        assert.deepStrictEqual(yield* at(9_000)(ofPartition(9)), [{ host, since: 9_000, until: 9_500 }])
        // by a clock that was ahead, and was set right
        yield* at(1e9)(save(9, { host, since: 1e9, until: 2e9 }))
        yield* at(10_000)(save(9, { host, since: 10_000, until: 11_000 }))
        assert.deepStrictEqual(yield* at(10_000)(ofPartition(9)), [{ host, since: 10_000, until: 11_000 }])
      }))
  })
}
