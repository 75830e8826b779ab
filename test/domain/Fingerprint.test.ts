import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { compareFingerprints, hashBytes, hashString } from "#domain/Fingerprint.ts"

describe("Fingerprint", () => {
  it("gives the published xxh64 of known inputs", () => {
    assert.strictEqual(hashString(""), 0xef46db3751d8e999n)
    assert.strictEqual(hashString("a"), 0xd24ec4f1a98c6e5bn)
    assert.strictEqual(hashBytes(new Uint8Array()), 0xef46db3751d8e999n)
  })

  it("is the same for a string and for its UTF-8 bytes", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (value) => {
      assert.strictEqual(hashString(value), hashBytes(new TextEncoder().encode(value)))
    }))
  })

  it("hashes a part of a larger buffer, not the buffer", () => {
    const whole = new TextEncoder().encode("xabcx")
    assert.strictEqual(hashBytes(whole.subarray(1, 4)), hashString("abc"))
  })

  it("compares the fingerprints of two documents", () => {
    assert.deepStrictEqual(
      [compareFingerprints(undefined, 1n), compareFingerprints(1n, 1n), compareFingerprints(1n, 2n)],
      ["first", "unchanged", "changed"]
    )
  })
})
