import { assert, describe, it } from "@effect/vitest"
import { readFeed, type ReadResult } from "#domain/normalize/ReadFeed.ts"
import { hostileDocuments } from "#scripts/feeds/Hostile.ts"
import { countWork } from "#test/support/CountedWork.ts"

const read = (attack: string): { readonly bytes: Uint8Array; readonly result: ReadResult } => {
  const bytes = new TextEncoder().encode(hostileDocuments[attack]!())
  return { bytes, result: readFeed(bytes) }
}

/** Characters looked at for each byte; an ordinary feed takes 3. */
const MOST_WORK = 20

describe("hostile feeds", () => {
  // How long they take is measured by `scripts/hostile.ts`; here is counted, which gives the same on every machine.
  it.each(Object.keys(hostileDocuments))("are read by looking at each character a few times: %s", (attack) => {
    const { bytes } = read(attack)
    assert.isBelow(countWork(() => readFeed(bytes)), MOST_WORK * bytes.length + 10_000)
  })

  it.each(["200,000 unclosed tags", "100,000 levels", "nested namespaces", "end tags without start", "1 MB of <"])(
    "take twice the work when they are twice as long, not four times: %s",
    (attack) => {
      const { bytes } = read(attack)
      const quarter = bytes.length >> 2
      const half = Buffer.concat([bytes.subarray(0, quarter), bytes.subarray(bytes.length - quarter)])
      assert.isBelow(countWork(() => readFeed(bytes)), 2.5 * countWork(() => readFeed(half)))
    }
  )

  it("lose no entry that stands beside the attack", () => {
    for (
      const attack of [
        "200,000 unclosed tags",
        "100,000 levels",
        "100,000 attributes",
        "1 MB of white space in a tag",
        "an entity from a file or another server"
      ]
    ) {
      const { result } = read(attack)
      assert.include(result._tag === "Feed" ? result.feed.entries.map(({ id }) => id) : [], "real", attack)
    }
  })

  it("get nothing from outside, and no more text out of entities than a document is long", () => {
    const text = JSON.stringify(Object.keys(hostileDocuments).slice(0, 3).map((attack) => read(attack).result))
    assert.notInclude(text, "root:")
    assert.isBelow(text.length, 2_500_000)
  })
})
