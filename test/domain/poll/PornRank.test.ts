import { assert, describe, it } from "@effect/vitest"
import type { Entry } from "#domain/feed/Entry.ts"
import { pornRank } from "#domain/poll/PornRank.ts"

const titled = (value: string, ...terms: ReadonlyArray<string>): Entry => ({
  id: value,
  title: { value, type: "text" },
  categories: terms.map((term) => ({ term }))
})

const header = { title: { value: "News of the day", type: "text" } }

describe("the porn rank", () => {
  it("is the share of texts that hold a word of the list, in titles and categories", () => {
    const entries = [titled("Weather"), titled("A PORNSTAR’s life"), titled("Clip", "hentai")]
    assert.strictEqual(pornRank(header, entries, "news.example"), 0.5)
    assert.strictEqual(pornRank(undefined, entries, "news.example"), 0.67)
    assert.strictEqual(pornRank(header, [titled("Порно")], "news.example"), 0.5)
    assert.strictEqual(pornRank(header, [], "xxx.example"), 1)
  })

  it("knows whole words only, and none with another sense", () => {
    const harmless = [
      "Sussex, Essex and Scunthorpe",
      "Ford Escort",
      "Nudes in oil",
      "Adult education",
      "cockpit",
      "Analysis"
    ]
    assert.strictEqual(pornRank(header, harmless.map((title) => titled(title)), "arsenal.example"), 0)
  })

  it("looks at the newest 25 entries, and at the beginning of each", () => {
    const many = [
      ...Array.from({ length: 25 }, () => titled("Weather")),
      ...Array.from({ length: 25 }, () => titled("porn"))
    ]
    assert.strictEqual(pornRank(undefined, many, "a.example"), 0)
    assert.strictEqual(pornRank(undefined, [titled(`${"x ".repeat(1_000_000)}porn`)], "a.example"), 0)
  })

  it("is unknown where there is nothing to judge", () => {
    assert.isUndefined(pornRank(undefined, [], "a.example"))
    assert.isUndefined(pornRank(undefined, [{ id: "1" }], "a.example"))
  })
})
