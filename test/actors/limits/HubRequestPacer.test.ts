import { assert, describe, it } from "@effect/vitest"
import { HubRequestPacer } from "#actors/limits/HubRequestPacer.ts"

describe("HubRequestPacer", () => {
  it("spaces the requests to a site by a second, and keeps a reservation until its release", () => {
    const pacer = new HubRequestPacer()
    assert.strictEqual(pacer.reserve(1, "https://a.hub.example/", 5_000), 5_000)
    assert.strictEqual(pacer.reserve(2, "https://b.hub.example/", 5_000), 6_000)
    assert.strictEqual(pacer.reserve(3, "https://other.example/", 5_000), 5_000)
    assert.strictEqual(pacer.reserve(2, "https://b.hub.example/", 5_999), 6_000)
    pacer.release(2)
    assert.strictEqual(pacer.reserve(2, "https://b.hub.example/", 6_000), 7_000)
  })

  it("keeps the reservations of a busy site beside many other sites", () => {
    const pacer = new HubRequestPacer()
    for (let i = 0; i < 1_000; i++) pacer.reserve(i, "https://busy.example/", 0)
    for (let i = 0; i < 10_000; i++) pacer.reserve(1_000 + i, `https://h${i}.example/`, i * 60)
    assert.strictEqual(pacer.reserve(99_999, "https://busy.example/", 600_000), 1_000_000)
  })
})
