import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { check, keyOf } from "#domain/delivery/WebhookSecret.ts"

const spell = (bytes: Uint8Array) => `whsec_${Buffer.from(bytes).toString("base64")}`

/** The sentence for a rejected secret; undefined for an accepted one. */
const problemOf = (secret: string): string | undefined => {
  const result = check(secret)
  return Result.isFailure(result) ? result.failure.message : undefined
}

describe("WebhookSecret", () => {
  it("reads a whsec_ secret as Base64, and another one as its UTF-8 bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ minLength: 24, maxLength: 64 }), (bytes) => {
      assert.isUndefined(problemOf(spell(bytes)))
      assert.deepStrictEqual(Uint8Array.from(keyOf(spell(bytes))), bytes)
    }))
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), (text) => {
      const secret = `x${text}`
      assert.isUndefined(problemOf(secret))
      assert.strictEqual(Buffer.from(keyOf(secret)).toString(), secret)
    }))
    assert.isUndefined(problemOf("WHSEC_!"))
  })

  it("rejects a whsec_ secret of 23 or 65 bytes, and names its length alone", () => {
    const rest = "bytes; 24 to 64 bytes in Base64 are accepted."

    assert.strictEqual(problemOf(spell(new Uint8Array(65))), `hub.secret is a whsec_ secret of 65 ${rest}`)
    assert.strictEqual(problemOf(spell(new Uint8Array(23))), `hub.secret is a whsec_ secret of 23 ${rest}`)
    assert.strictEqual(problemOf("whsec_"), `hub.secret is a whsec_ secret of 0 ${rest}`)
  })

  it.each([
    ["no padding", spell(new Uint8Array(25)).replaceAll("=", "")],
    ["the alphabet of URLs", `whsec_${Buffer.alloc(24, 0xff).toString("base64url")}`],
    ["a character outside of the alphabet", `${spell(new Uint8Array(24))}!`],
    ["a line break", `${spell(new Uint8Array(24))}\n`],
    ["bits behind the last byte", spell(new Uint8Array(25)).replace("A==", "B==")]
  ])("rejects a whsec_ secret with %s, without repeating it", (_, secret) => {
    const problem = problemOf(secret)
    assert.strictEqual(
      problem,
      "hub.secret begins with whsec_, but the rest is no Base64 with padding; send whsec_ and the Base64 of 24 to 64 random "
        + "bytes, or a secret without this prefix."
    )
  })
})
