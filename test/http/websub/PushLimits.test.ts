import { assert, describe, it } from "@effect/vitest"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { PushLimits } from "#http/websub/PushLimits.ts"

describe("PushLimits", () => {
  it("allows two documents per callback and sixteen per site", () => {
    const limits = new PushLimits(new MemoryBudget())
    const rooms = Array.from({ length: 40 }, (_, i) => limits.reserve(`callback ${i >> 2}`, "a.example"))
    assert.deepStrictEqual(
      rooms.map((room) => room !== undefined),
      Array.from({ length: 40 }, (_, i) => i < 32 && i % 4 < 2)
    )
    assert.isDefined(limits.reserve("another", "b.example"))
    assert.isUndefined(limits.reserve("another", "a.example"))
    rooms[0]?.release()
    assert.isDefined(limits.reserve("another", "a.example"))
  })

  it("counts the bytes of all sites in the share of strangers", () => {
    const memory = new MemoryBudget({ maxBytes: 100, maxBytesOfStrangers: 50 })
    const limits = new PushLimits(memory)
    const [one, two] = [limits.reserve("1", "a.example"), limits.reserve("2", "b.example")]
    assert.isTrue(one?.reservation.tryGrow(50))
    assert.isFalse(two?.reservation.tryGrow(1))
    one?.release()
    assert.isTrue(two?.reservation.tryGrow(50))
    two?.release()
    assert.strictEqual(memory.bytes, 0)
  })
})
