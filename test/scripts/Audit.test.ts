import { assert, describe, it } from "@effect/vitest"
import { audit, isFlawless } from "#scripts/soak/Audit.ts"
import { Feed, placeholder } from "#scripts/soak/Feed.ts"
import type { Accepted } from "#scripts/soak/Receivers.ts"

const id = (entry: number) => `urn:feed:0:${entry}`

const told = (sequence: number, ids: ReadonlyArray<string>, at = 0): Accepted => ({
  at,
  notification: `1-${sequence}`,
  sequence,
  ids
})

/** A feed with three entries, of which the first was there before the subscription. */
const published = () => {
  const feed = new Feed(0)
  feed.publish()
  feed.publish()
  return feed
}

const auditOf = (accepted: ReadonlyArray<Accepted>, kills: ReadonlyArray<number> = []) => {
  const result = audit([published()], 1, new Map([["0/0", accepted]]), kills, 1)
  return { ...result, flawless: isFlawless(result) }
}

describe("audit of a soak", () => {
  it("accepts each entry once, and a placeholder", () => {
    const { examples, flawless, ...counts } = auditOf([told(1, [id(1)]), told(2, [placeholder]), told(3, [id(2)])])
    assert.deepStrictEqual([flawless, examples, counts.expected, counts.placeholders], [true, [], 2, 1])
  })

  it("names what is lost, repeated, invented, missing and out of order", () => {
    const cases: ReadonlyArray<readonly [accepted: ReadonlyArray<Accepted>, example: string]> = [
      [[told(1, [id(1)])], "lost: 0/0 urn:feed:0:2 (rss)"],
      [[told(1, [id(1), id(2)]), told(2, [id(1)])], "repeated: 0/0 urn:feed:0:1 in 1-1 and 1-2 (rss)"],
      [[told(1, [id(1), id(2)]), told(2, [id(9)])], "invented: 0/0 urn:feed:0:9 (rss)"],
      [[told(1, [id(1)]), told(3, [id(2)])], "gaps: 0/0 1 to 3"],
      [[told(1, []), told(3, [id(1)]), told(2, [id(2)])], "outOfOrder: 0/0 2 after 3"],
      [[told(1, [id(1), id(2)]), told(1, [id(1), id(2)])], "resent: 0/0 1-1 (rss)"]
    ]
    for (const [accepted, example] of cases) {
      const { examples, flawless } = auditOf(accepted)
      assert.include(examples, example)
      assert.isFalse(flawless)
    }
  })

  it("allows a repetition of a notification near a kill alone", () => {
    const twice = [told(1, [id(1), id(2)], 1_000_000), told(1, [id(1), id(2)], 1_001_000)]
    assert.deepInclude(auditOf(twice, [1_010_000]), { flawless: true, resentNearKills: 1, resent: 0 })
    assert.deepInclude(auditOf(twice, [2_000_000]), { flawless: false, resentNearKills: 0, resent: 1 })
  })
})
