import { assert, describe, it } from "@effect/vitest"
import { granted, hasEnded } from "#domain/websub/Lease.ts"

describe("Lease", () => {
  it("lasts ten days when nothing is asked for, else one to ninety", () => {
    assert.deepStrictEqual([undefined, 0, 86_399, 86_400, 100_000, 7_776_000, 7_776_001, 1e15].map(granted), [
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
    assert.deepStrictEqual([hasEnded({ leaseUntil: 5 }, 4), hasEnded({ leaseUntil: 5 }, 5), hasEnded({}, 5)], [
      false,
      true,
      false
    ])
  })
})
