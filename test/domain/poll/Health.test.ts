import { assert, describe, it } from "@effect/vitest"
import { healthy, recordFailure } from "#domain/poll/Health.ts"

describe("Health", () => {
  it("announces the failure that enters the error state, and no further one", () => {
    const first = recordFailure(healthy, false)
    assert.deepStrictEqual(first, { health: { inError: true, failures: 1 }, announced: true, isTolerated: false })
    assert.deepStrictEqual(recordFailure(first.health, false), {
      health: { inError: true, failures: 2 },
      announced: false,
      isTolerated: false
    })
  })

  it("lets a resource that was read before slip once", () => {
    const slip = recordFailure(healthy, true)
    assert.deepStrictEqual(slip, { health: { inError: false, failures: 1 }, announced: false, isTolerated: true })
    assert.deepStrictEqual(recordFailure(slip.health, true), {
      health: { inError: true, failures: 2 },
      announced: true,
      isTolerated: false
    })
  })
})
