import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { approximateLength, boundedBytes } from "#domain/feed/EntryLength.ts"
import type { Entry } from "#domain/feed/Entry.ts"

const bytesOf = (entry: Entry): number => Buffer.byteLength(JSON.stringify(entry))

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("\u0000", "\"", "é", "💥", "\ud800") })
)

const entries: fc.Arbitrary<Entry> = fc.record(
  {
    id: text,
    generatedId: fc.constant(true as const),
    title: fc.record({ value: text, type: fc.constant("html") }),
    content: fc.array(fc.record({ value: text, type: fc.constant("text") })),
    published: fc.double({ noNaN: true, noDefaultInfinity: true }),
    points: fc.array(fc.record({ latitude: fc.double(), longitude: fc.double() })),
    extensions: fc.dictionary(text, fc.dictionary(text, text))
  },
  { requiredKeys: ["id"] }
) as fc.Arbitrary<Entry>

describe("the length of an entry", () => {
  it("is never less than the bytes of its JSON", () => {
    fc.assert(fc.property(entries, (entry) => {
      assert.isAtLeast(boundedBytes(entry, Infinity), bytesOf(entry))
    }))
  })

  it("is exact when its bound exceeds the maximum", () => {
    fc.assert(fc.property(entries, fc.nat(2000), (entry, max) => {
      const found = boundedBytes(entry, max)
      assert.isTrue(found <= max || found === bytesOf(entry))
      assert.strictEqual(found > max, boundedBytes(entry, Infinity) > max && bytesOf(entry) > max)
    }))
  })

  it("is about that of the JSON for ordinary text", () => {
    const entry: Entry = { id: "a", title: { value: "x".repeat(5000), type: "text" }, published: 1_700_000_000_000 }
    assert.closeTo(approximateLength(entry), JSON.stringify(entry).length, 60)
  })
})
