import { assert, describe, it } from "@effect/vitest"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
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

  it("lets V8 collect a heap once in a growth by three quarters, and prints nothing about its flags", () => {
    const script = `
      import { PerformanceObserver } from "node:perf_hooks"
      import { setTimeout } from "node:timers/promises"
      import { exposeCollection, shortenCollections, spaceCollections } from ${
      JSON.stringify(import.meta.resolve("#layers/ReleaseMemory.ts"))
    }
      shortenCollections()
      spaceCollections()
      const collect = exposeCollection()
      const objects = (count) => Array.from({ length: count }, (_, i) => ({ i, list: [i] }))
      const live = objects(500_000)
      collect()
      await setTimeout(100)
      let collections = 0
      new PerformanceObserver((list) => {
        for (const { detail } of list.getEntries()) if (detail.kind & 4) collections++
      }).observe({ entryTypes: ["gc"] })
      for (let step = 0; step < 150; step++) {
        let promoted = objects(3_000)
        collect({ type: "minor" })
        collect({ type: "minor" })
        promoted = undefined
        await setTimeout(5)
      }
      await setTimeout(100)
      console.log(live.length, collections)`
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", "--input-type=module", "--eval", script],
      { encoding: "utf8" }
    )
    assert.deepStrictEqual([status, stderr], [0, ""])
    assert.strictEqual(stdout, "500000 1\n")
  })

  it("writes compiled code to Node's cache, whose copy in memory it drops", () => {
    const cache = mkdtempSync(join(tmpdir(), "compile-cache-"))
    try {
      const script = `
        import { readdirSync } from "node:fs"
        import { releaseMemory } from ${JSON.stringify(import.meta.resolve("#layers/ReleaseMemory.ts"))}
        const count = () => readdirSync(process.env.NODE_COMPILE_CACHE, { recursive: true }).length
        const before = count()
        releaseMemory()
        console.log(JSON.stringify([before, count()]))`
      const output = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
        env: { ...process.env, NODE_COMPILE_CACHE: cache },
        encoding: "utf8"
      })
      const [before, after] = JSON.parse(output)
      assert.strictEqual(before, 1) // the directory of this version of Node
      assert.isAtLeast(after, 3) // the source without types, and its compiled code
    } finally {
      rmSync(cache, { recursive: true })
    }
  })
})
