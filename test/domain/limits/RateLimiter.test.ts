import { assert, describe, it } from "@effect/vitest"
import { RateLimiter } from "#domain/limits/RateLimiter.ts"

const make = (maxKeys = 100) => new RateLimiter({ burst: 3, perMinute: 6 }, { maxKeys, maxDebtMs: 60_000 })

describe("RateLimiter", () => {
  it("allows a burst, then one use per interval", () => {
    const limiter = make()
    for (let i = 0; i < 3; i++) {
      assert.strictEqual(limiter.waitMs("a", 0), 0)
      limiter.use("a", 0)
    }
    assert.strictEqual(limiter.waitMs("a", 0), 10_000)
    assert.strictEqual(limiter.waitMs("a", 9_999), 1)
    assert.strictEqual(limiter.waitMs("a", 10_000), 0)
    assert.strictEqual(limiter.waitMs("b", 0), 0)
  })

  it("adds up uses beyond the rate, up to the maximum debt", () => {
    const limiter = make()
    for (let i = 0; i < 5; i++) limiter.use("a", 0)
    assert.strictEqual(limiter.waitMs("a", 0), 30_000)
    for (let i = 0; i < 1000; i++) limiter.use("a", 0)
    assert.strictEqual(limiter.waitMs("a", 0), 70_000)
  })

  it("forgets the least recently used key beyond its maximum", () => {
    const limiter = make(2)
    for (const key of ["a", "b", "a", "c"]) {
      for (let i = 0; i < 3; i++) limiter.use(key, 0)
    }
    assert.isAbove(limiter.waitMs("a", 0), 0)
    assert.strictEqual(limiter.waitMs("b", 0), 0)
    assert.isAbove(limiter.waitMs("c", 0), 0)
  })
})
