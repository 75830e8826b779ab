import { assert, describe, it } from "@effect/vitest"
import { getHeapSpaceStatistics } from "node:v8"
import { releaseMemory } from "#layers/ReleaseMemory.ts"

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.physical_space_size ?? 0

describe("ReleaseMemory", () => {
  it("shrinks the young generation, which a start has grown", () => {
    let survivors: Array<ReadonlyArray<number>> = []
    for (let i = 0; i < 400_000; i++) survivors.push([i, i + 1, i + 2])
    assert.strictEqual(survivors.length, 400_000)
    assert.isAbove(youngBytes(), 4 * 1024 * 1024)
    survivors = []
    releaseMemory()
    assert.isBelow(youngBytes(), 3 * 1024 * 1024)
  })
})
