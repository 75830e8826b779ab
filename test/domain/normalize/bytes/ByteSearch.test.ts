import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { ByteSearch } from "#domain/normalize/bytes/ByteSearch.ts"

describe("ByteSearch", () => {
  it("finds the same position as indexOf, at any offset in memory", () => {
    const cases = fc.record({
      bytes: fc.array(fc.constantFrom(0, 1, 60, 61, 93, 127, 128, 188, 255), { maxLength: 40 }),
      offset: fc.integer({ min: 0, max: 7 }),
      byte: fc.constantFrom(60, 62, 93, 45, 63),
      from: fc.integer({ min: 0, max: 45 })
    })
    fc.assert(
      fc.property(cases, ({ bytes, offset, byte, from }) => {
        const part = Uint8Array.from([...Array<number>(offset).fill(byte), ...bytes]).subarray(offset)
        assert.strictEqual(new ByteSearch(part).find(byte, from), part.indexOf(byte, from))
      }),
      { numRuns: 2000 }
    )
  })
})
