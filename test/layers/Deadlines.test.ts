import { assert, describe, it } from "@effect/vitest"
import * as Deadlines from "#layers/Deadlines.ts"

const after = (deadlines: Deadlines.Deadlines, milliseconds: number) =>
  new Promise<void>((resolve) => {
    deadlines.add(milliseconds, resolve)
  })

describe("Deadlines", () => {
  it("calls each deadline once, in their order and never early", async () => {
    const deadlines = Deadlines.make()
    const start = performance.now()
    const calls: Array<readonly [wanted: number, after: number]> = []
    await Promise.all([120, 10, 60, 10].map((wanted) =>
      new Promise<void>((resolve) => {
        deadlines.add(wanted, () => {
          calls.push([wanted, performance.now() - start])
          resolve()
        })
      })
    ))
    deadlines.close()
    assert.deepStrictEqual(calls.map(([wanted]) => wanted), [10, 10, 60, 120])
    for (const [wanted, after] of calls) assert.isAtLeast(after, wanted)
  })

  it("forgets a cancelled deadline", async () => {
    const deadlines = Deadlines.make()
    let called = 0
    const cancelled = deadlines.add(10, () => called++)
    deadlines.cancel(cancelled)
    deadlines.cancel(cancelled)
    await after(deadlines, 80)
    deadlines.close()
    assert.strictEqual(called, 0)
  })

  it("passes over a deadline that is a turn of the wheel away", async () => {
    const deadlines = Deadlines.make()
    let called = 0
    const far = deadlines.add(25.6 * 1000 + 10, () => called++)
    await after(deadlines, 80)
    assert.strictEqual(called, 0)
    assert.strictEqual(deadlines.pending(), 1)
    deadlines.cancel(far)
    assert.deepStrictEqual([deadlines.pending(), far.expired], [0, undefined])
    deadlines.close()
  })
})
