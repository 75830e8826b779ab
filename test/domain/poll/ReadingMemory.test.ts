import { assert, describe, it } from "@effect/vitest"
import { readingBytes } from "#domain/poll/ReadingMemory.ts"

const page = (text: string) => new TextEncoder().encode(text)

describe("readingBytes", () => {
  it("is three times a large document, and nothing for a small one", () => {
    assert.strictEqual(readingBytes("http://a.example/", new Uint8Array(499_999)), 0)
    assert.strictEqual(readingBytes("http://a.example/", new Uint8Array(500_000)), 1_500_000)
  })

  it("counts the elements where a fragment is selected, because few bytes make a large tree", () => {
    assert.strictEqual(readingBytes("http://a.example/#p", page("<p>".repeat(1000))), 8 * 3000 + 800_000)
    assert.strictEqual(readingBytes("http://a.example/#$.a", page("x".repeat(62_500))), 500_000)
    assert.strictEqual(readingBytes("http://a.example/#p", page("x".repeat(62_499))), 0)
  })
})
