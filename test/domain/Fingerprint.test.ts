import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { compareFingerprints, ofBytes, ofString } from "#domain/Fingerprint.ts"

describe("Fingerprint", () => {
  it("gives the published xxh64 of known inputs", () => {
    assert.strictEqual(ofString(""), 0xef46db3751d8e999n)
    assert.strictEqual(ofString("a"), 0xd24ec4f1a98c6e5bn)
    assert.strictEqual(ofBytes(new Uint8Array()), 0xef46db3751d8e999n)
  })

  it("is the same for a string and for its UTF-8 bytes", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (value) => {
      assert.strictEqual(ofString(value), ofBytes(new TextEncoder().encode(value)))
    }))
  })

  it("hashes a part of a larger buffer, not the buffer", () => {
    const whole = new TextEncoder().encode("xabcx")
    assert.strictEqual(ofBytes(whole.subarray(1, 4)), ofString("abc"))
  })

  it("compares the fingerprints of two documents", () => {
    assert.deepStrictEqual(
      [compareFingerprints(undefined, 1n), compareFingerprints(1n, 1n), compareFingerprints(1n, 2n)],
      ["first", "unchanged", "changed"]
    )
  })
})
