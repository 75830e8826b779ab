import { assert, describe, it } from "@effect/vitest"
import { setTimeout } from "node:timers/promises"
import { collectGarbage } from "#layers/GarbageCollection.ts"
import { trimPools } from "#layers/MallocTrim.ts"

const mebibyte = 1024 * 1024

/** Undefined for a Node that uses another C library, which has no `malloc_trim`. */
const glibcVersion = Reflect.get(
  Object(Reflect.get(Object(process.report.getReport()), "header")),
  "glibcVersionRuntime"
)

describe("MallocTrim", () => {
  it.skipIf(glibcVersion === undefined)("returns holes between blocks that stay", async () => {
    const blocks = Array.from({ length: 2000 }, (_, index) => Buffer.alloc(40_000, index))
    const kept = blocks.filter((_, index) => index % 10 === 0)
    blocks.length = 0
    collectGarbage()
    let returned = 0
    for (let attempt = 0; attempt < 100 && returned < 30 * mebibyte; attempt++) {
      await setTimeout(50) // a helper thread frees the blocks
      const before = process.memoryUsage.rss()
      trimPools()
      returned += before - process.memoryUsage.rss()
    }
    assert.isAtLeast(returned, 30 * mebibyte)
    assert.isTrue(kept.every((block, index) => block.length === 40_000 && block[39_999] === (10 * index) % 256))
  })

  it("can run again and reports nothing", () => {
    trimPools()
    assert.isUndefined(trimPools())
  })
})
