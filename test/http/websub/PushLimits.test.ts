import { assert, describe, it } from "@effect/vitest"
import { PushLimits } from "#http/websub/PushLimits.ts"

const megabyte = 1024 * 1024

describe("places for what hubs push", () => {
  it("are two of a callback, and sixteen of a site", () => {
    const places = new PushLimits()
    const entered = Array.from({ length: 40 }, (_, i) => places.enter(`callback ${i >> 2}`, "a.example"))
    assert.deepStrictEqual(
      entered.map((place) => place !== undefined),
      Array.from({ length: 40 }, (_, i) => i < 32 && i % 4 < 2)
    )
    assert.isDefined(places.enter("another", "b.example"))
    assert.isUndefined(places.enter("another", "a.example"))
    entered[0]?.leave()
    assert.isDefined(places.enter("another", "a.example"))
  })

  it("hold the bytes that have come, of all sites together", () => {
    const places = new PushLimits()
    const entered = Array.from({ length: 32 }, (_, i) => places.enter(`callback ${i}`, `site ${i >> 3}`))
    for (const place of entered) assert.isTrue(place?.grow(8 * megabyte))
    assert.isUndefined(places.enter("another", "b.example"))
    for (const place of entered) place?.leave()
    const places16 = Array.from({ length: 16 }, (_, i) => places.enter(`callback ${i}`, "a.example"))
    assert.strictEqual(places16.filter((place) => place?.grow(8 * megabyte)).length, 16)
    const all = places.enter("another", "b.example")
    assert.strictEqual(all?.grow(128 * megabyte), true)
    assert.strictEqual(all?.grow(1), false)
  })
})
