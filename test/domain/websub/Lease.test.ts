import { assert, describe, it } from "@effect/vitest"
import { grantLease, hasLeaseEnded } from "#domain/websub/Lease.ts"

describe("Lease", () => {
  it("lasts ten days when nothing is asked for, else one to ninety", () => {
    assert.deepStrictEqual([undefined, 0, 86_399, 86_400, 100_000, 7_776_000, 7_776_001, 1e15].map(grantLease), [
      864_000,
      86_400,
      86_400,
      86_400,
      100_000,
      7_776_000,
      7_776_000,
      7_776_000
    ])
  })

  it("has ended from its last moment on; what has none does not end", () => {
    assert.deepStrictEqual([
      hasLeaseEnded({ leaseUntil: 5 }, 4),
      hasLeaseEnded({ leaseUntil: 5 }, 5),
      hasLeaseEnded({}, 5)
    ], [
      false,
      true,
      false
    ])
  })
})
