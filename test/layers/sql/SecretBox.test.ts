import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { idOf, make } from "#layers/sql/SecretBox.ts"

const keyOf = (seed: number) => new Uint8Array(32).fill(seed)

const opened = (result: ReturnType<ReturnType<typeof make>["open"]>): string =>
  Result.match(result, { onSuccess: (text) => `"${text}"`, onFailure: ({ message }) => message })

const damaged = "Its bytes in the database are damaged."

describe("SecretBox", () => {
  it("opens each text under its purpose, and shows nothing of the text", () => {
    const box = make([keyOf(1)])
    fc.assert(fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (text, purpose) => {
      const sealed = box.seal(text, purpose)
      assert.strictEqual(opened(box.open(sealed, purpose)), `"${text}"`)
      assert.strictEqual(opened(box.open(sealed, `${purpose}x`)), damaged)
      assert.strictEqual(sealed.length, 33 + Buffer.byteLength(text))
    }))
    assert.isFalse(Buffer.from(box.seal("whsec_secret", "p")).includes("secret"))
  })

  it("seals equal texts differently, and gives them equal digests", () => {
    const box = make([keyOf(1)])
    assert.notDeepEqual(box.seal("a", "p"), box.seal("a", "p"))
    assert.deepStrictEqual(box.digest("a"), box.digest("a"))
    assert.notDeepEqual(box.digest("a"), box.digest("b"))
    assert.notDeepEqual(box.digest("a"), make([keyOf(2)]).digest("a"))
  })

  it("rejects every change of a byte, and every shorter value", () => {
    const box = make([keyOf(1)])
    const sealed = box.seal("secret", "p")
    for (let at = 0; at < sealed.length; at++) {
      const changed = Uint8Array.from(sealed)
      changed[at] = (changed[at] ?? 0) ^ 1
      assert.isTrue(Result.isFailure(box.open(changed, "p")), `byte ${at}`)
      assert.isTrue(Result.isFailure(box.open(sealed.subarray(0, at), "p")), `${at} bytes`)
    }
    assert.strictEqual(opened(box.open(Uint8Array.from([...sealed, 0]), "p")), damaged)
  })

  it("seals with the first key and opens with all", () => {
    const [before, during, after] = [make([keyOf(1)]), make([keyOf(2), keyOf(1)]), make([keyOf(2)])]
    assert.strictEqual(opened(during.open(before.seal("old", "p"), "p")), "\"old\"")
    assert.strictEqual(opened(after.open(during.seal("new", "p"), "p")), "\"new\"")
    assert.deepStrictEqual(Buffer.from(during.keyId), idOf(keyOf(2)))
    assert.strictEqual(
      opened(after.open(before.seal("old", "p"), "p")),
      `It was encrypted with the key ${idOf(keyOf(1)).toString("hex")}, which is not set.`
    )
  })

  it("opens and seals nothing without a key", () => {
    const none = make([])
    assert.match(opened(none.open(make([keyOf(1)]).seal("a", "p"), "p")), /which is not set\.$/)
    assert.throws(() => none.seal("a", "p"), "A secret was to be stored without an encryption key.")
  })
})
