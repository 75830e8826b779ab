import { assert, describe, it } from "@effect/vitest"
import { PushLimits } from "#http/websub/PushLimits.ts"

const megabyte = 1024 * 1024

describe("PushLimits", () => {
  it("allows two documents per callback and sixteen per site", () => {
    const limits = new PushLimits()
    const reservations = Array.from({ length: 40 }, (_, i) => limits.reserve(`callback ${i >> 2}`, "a.example"))
    assert.deepStrictEqual(
      reservations.map((reservation) => reservation !== undefined),
      Array.from({ length: 40 }, (_, i) => i < 32 && i % 4 < 2)
    )
    assert.isDefined(limits.reserve("another", "b.example"))
    assert.isUndefined(limits.reserve("another", "a.example"))
    reservations[0]?.release()
    assert.isDefined(limits.reserve("another", "a.example"))
  })

  it("limits the received bytes of all sites together", () => {
    const limits = new PushLimits()
    const reservations = Array.from({ length: 32 }, (_, i) => limits.reserve(`callback ${i}`, `site ${i >> 3}`))
    for (const reservation of reservations) assert.isTrue(reservation?.grow(8 * megabyte))
    assert.isUndefined(limits.reserve("another", "b.example"))
    for (const reservation of reservations) reservation?.release()
    const ofOneSite = Array.from({ length: 16 }, (_, i) => limits.reserve(`callback ${i}`, "a.example"))
    assert.strictEqual(ofOneSite.filter((reservation) => reservation?.grow(8 * megabyte)).length, 16)
    const all = limits.reserve("another", "b.example")
    assert.strictEqual(all?.grow(128 * megabyte), true)
    assert.strictEqual(all?.grow(1), false)
  })
})
