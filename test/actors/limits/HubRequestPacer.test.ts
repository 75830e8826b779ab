import { assert, describe, it } from "@effect/vitest"
import { HubRequestPacer } from "#actors/limits/HubRequestPacer.ts"

describe("turns at hubs", () => {
  it("are a second apart at a site, and stay until they are taken", () => {
    const turns = new HubRequestPacer()
    assert.strictEqual(turns.reserve(1, "https://a.hub.example/", 5_000), 5_000)
    assert.strictEqual(turns.reserve(2, "https://b.hub.example/", 5_000), 6_000)
    assert.strictEqual(turns.reserve(3, "https://other.example/", 5_000), 5_000)
    assert.strictEqual(turns.reserve(2, "https://b.hub.example/", 5_999), 6_000)
    turns.release(2)
    assert.strictEqual(turns.reserve(2, "https://b.hub.example/", 6_000), 7_000)
  })

  it("of many sites are forgotten when they are over, behind a site whose turns last long as well", () => {
    const turns = new HubRequestPacer()
    for (let i = 0; i < 1_000; i++) turns.reserve(i, "https://busy.example/", 0)
    for (let i = 0; i < 10_000; i++) turns.reserve(1_000 + i, `https://h${i}.example/`, i * 60)
    assert.isBelow(turns.sites, 1_100)
    assert.strictEqual(turns.reserve(99_999, "https://busy.example/", 600_000), 1_000_000)
  })
})
