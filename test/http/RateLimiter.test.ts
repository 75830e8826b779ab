import { assert, describe, it } from "@effect/vitest"
import { RateLimiter } from "#http/RateLimiter.ts"

const make = (maxKeys = 100) => new RateLimiter({ burst: 3, perMinute: 6 }, { maxKeys, maxDebt: 60_000 })

describe("Allowances", () => {
  it("gives a burst, then one after each interval", () => {
    const allowances = make()
    for (let i = 0; i < 3; i++) {
      assert.strictEqual(allowances.wait("a", 0), 0)
      allowances.use("a", 0)
    }
    assert.strictEqual(allowances.wait("a", 0), 10_000)
    assert.strictEqual(allowances.wait("a", 9_999), 1)
    assert.strictEqual(allowances.wait("a", 10_000), 0)
    assert.strictEqual(allowances.wait("b", 0), 0)
  })

  it("adds up what was used beyond, up to the greatest debt", () => {
    const allowances = make()
    for (let i = 0; i < 5; i++) allowances.use("a", 0)
    assert.strictEqual(allowances.wait("a", 0), 30_000)
    for (let i = 0; i < 1000; i++) allowances.use("a", 0)
    assert.strictEqual(allowances.wait("a", 0), 70_000)
  })

  it("keeps a bounded number of keys, and drops the one that was used longest ago", () => {
    const allowances = make(2)
    for (const key of ["a", "b", "a", "c"]) {
      for (let i = 0; i < 3; i++) allowances.use(key, 0)
    }
    assert.isAbove(allowances.wait("a", 0), 0)
    assert.strictEqual(allowances.wait("b", 0), 0)
    assert.isAbove(allowances.wait("c", 0), 0)
  })
})
