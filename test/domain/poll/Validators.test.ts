import { assert, describe, it } from "@effect/vitest"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { type Validators, validatorsAfter } from "#domain/poll/Validators.ts"

const day = "Tue, 14 Nov 2023 00:00:00 GMT"
const now = Date.parse(day) + 3_600_000

const answer = (status: number, headers: Fetched["headers"] = {}): Fetched => ({
  status,
  headers,
  body: new Uint8Array(),
  signature: 0n,
  finalUrl: "http://feeds.example/"
})

const known = { news: false, afterSilence: false, now }
const news = { ...known, news: true }
const late = { ...news, afterSilence: true }

/** What is held, without what is not there. */
const after = (...[held, given, finding]: Parameters<typeof validatorsAfter>): Validators =>
  JSON.parse(JSON.stringify(validatorsAfter(held, given, finding))) as Validators

describe("validators", () => {
  it("are held byte for byte, those of a 200 and those of a 304", () => {
    const odd = { etag: "W/'a\"\t\u00e9, \"b\"", "last-modified": "  yesterday " }
    const held = { etag: odd.etag, lastModified: odd["last-modified"] }
    assert.deepStrictEqual(after({}, answer(200, odd), news), held)
    assert.deepStrictEqual(after({ etag: "\"1\"", lastModified: day }, answer(304, odd), known), held)
  })

  it("of a 304 that repeats none stay in force, those of another document go", () => {
    const held = { etag: "\"1\"", lastModified: day }
    assert.deepStrictEqual(after(held, answer(304), known), held)
    assert.deepStrictEqual(after(held, answer(304, { etag: "\"2\"" }), known), { etag: "\"2\"", lastModified: day })
    assert.deepStrictEqual(after(held, answer(200), news), {})
  })

  it("that stayed the same while there were news are never sent again", () => {
    const lying = { distrust: "lying", caught: now } as const
    assert.deepStrictEqual(after({ etag: "\"1\"" }, answer(200, { etag: "\"1\"" }), news), lying)
    assert.deepStrictEqual(after({ lastModified: day }, answer(200, { "last-modified": day }), news), lying)
    assert.deepStrictEqual(after(lying, answer(200, { etag: "\"2\"" }), news), lying)
    assert.deepStrictEqual(after(lying, answer(304, { etag: "\"2\"" }), known), lying)
    assert.deepStrictEqual(after({ distrust: "lying" }, answer(200, { etag: "\"2\"" }), news), lying) // of long ago
  })

  it("that stayed the same without news, or differ, are honest", () => {
    const same = answer(200, { etag: "\"1\"", "last-modified": day })
    assert.deepStrictEqual(after({ etag: "\"1\"", lastModified: day }, same, known), {
      etag: "\"1\"",
      lastModified: day
    })
    assert.deepStrictEqual(after({ etag: "\"0\"", lastModified: day }, same, news), {
      etag: "\"1\"",
      lastModified: day
    })
    assert.deepStrictEqual(after({ lastModified: day }, same, news), { etag: "\"1\"", lastModified: day })
    assert.deepStrictEqual(after({}, answer(200), news), {})
  })

  it("with the second of a document that changed twice within it are not condemned", () => {
    const fresh = { ...news, now: Date.parse(day) + 60_000 }
    const given = answer(200, { "last-modified": day })
    assert.deepStrictEqual(after({ lastModified: day }, given, fresh), { lastModified: day })
  })

  it("of the document before are asked with once more when only a fetch without them has shown the news", () => {
    const suspect = after({ etag: "\"1\"" }, answer(200, { etag: "\"2\"" }), late)
    assert.deepStrictEqual(suspect, { etag: "\"1\"", distrust: "suspect" })
    assert.deepStrictEqual(after(suspect, answer(304), known), { distrust: "lying", caught: now })
    assert.deepStrictEqual(after(suspect, answer(200, { etag: "\"2\"" }), known), { etag: "\"2\"" })
    assert.deepStrictEqual(after(suspect, answer(200, { etag: "\"3\"" }), news), { etag: "\"3\"" })
  })

  it("are held again a week after the lie, and proved by the next news", () => {
    const caught = now - 7 * 86_400_000
    const given = { etag: "\"1\"", "last-modified": day }
    const trial = { etag: "\"1\"", lastModified: day, distrust: "trial", caught } as const
    const lying = { distrust: "lying", caught: now } as const
    assert.deepStrictEqual(after({ distrust: "lying", caught }, answer(200, given), known), trial)
    assert.deepStrictEqual(after({ distrust: "lying", caught }, answer(200), known), { distrust: "lying", caught })
    assert.deepStrictEqual(after({ distrust: "lying", caught: caught + 1 }, answer(200, given), known), {
      distrust: "lying",
      caught: caught + 1
    })
    const next = answer(200, { etag: "\"2\"" })
    assert.deepStrictEqual(after(trial, answer(200, given), known), trial)
    assert.deepStrictEqual(after(trial, next, known), { etag: "\"2\"", distrust: "trial", caught })
    assert.deepStrictEqual(after(trial, answer(200, given), news), lying)
    assert.deepStrictEqual(after(trial, answer(304), known), lying)
    const suspect = after(trial, next, news)
    assert.deepStrictEqual(suspect, { ...trial, distrust: "suspect" })
    assert.deepStrictEqual(after(suspect, answer(304), known), lying)
    assert.deepStrictEqual(after(suspect, next, known), { etag: "\"2\"" })
  })
})
