import { assert, describe, it } from "@effect/vitest"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { nextValidators, type Validators } from "#domain/poll/Validators.ts"

const day = "Tue, 14 Nov 2023 00:00:00 GMT"
const now = Date.parse(day) + 3_600_000

const answer = (status: number, headers: Fetched["headers"] = {}): Fetched => ({
  status,
  headers,
  body: new Uint8Array(),
  signature: 0n,
  finalUrl: "http://feeds.example/"
})

const known = { changed: false, afterNotModified: false, now }
const news = { ...known, changed: true }
const late = { ...news, afterNotModified: true }

/** What is held, without what is not there. */
const after = (...[held, given, finding]: Parameters<typeof nextValidators>): Validators =>
  JSON.parse(JSON.stringify(nextValidators(held, given, finding))) as Validators

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
    const lying = { trust: "lying", caughtLyingAt: now } as const
    assert.deepStrictEqual(after({ etag: "\"1\"" }, answer(200, { etag: "\"1\"" }), news), lying)
    assert.deepStrictEqual(after({ lastModified: day }, answer(200, { "last-modified": day }), news), lying)
    assert.deepStrictEqual(after(lying, answer(200, { etag: "\"2\"" }), news), lying)
    assert.deepStrictEqual(after(lying, answer(304, { etag: "\"2\"" }), known), lying)
    assert.deepStrictEqual(after({ trust: "lying" }, answer(200, { etag: "\"2\"" }), news), lying) // of long ago
  })

  it("are not sent again when the server certainly refuses them, or twice in a row", () => {
    const held = { etag: "\"1\"" }
    const given = answer(200, { etag: "\"2\"" })
    const lying = { trust: "lying", caughtLyingAt: now } as const
    assert.deepStrictEqual(after(held, given, { ...known, refusal: "certain" }), lying)
    assert.deepStrictEqual(after(held, given, { ...news, refusal: "certain" }), lying)
    const once = after(held, given, { ...news, refusal: "possible" })
    assert.deepStrictEqual(once, { etag: "\"2\"", refusedOnce: true })
    assert.deepStrictEqual(after(once, given, { ...known, refusal: "possible" }), lying)
    assert.deepStrictEqual(after(once, answer(304), known), { etag: "\"2\"" })
    assert.deepStrictEqual(after(once, answer(200), news), {})
    const suspect = { etag: "\"0\"", trust: "suspect" } as const
    assert.deepStrictEqual(after(suspect, given, { ...known, refusal: "possible" }), { ...suspect, refusedOnce: true })
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
    assert.deepStrictEqual(suspect, { etag: "\"1\"", trust: "suspect" })
    assert.deepStrictEqual(after(suspect, answer(304), known), { trust: "lying", caughtLyingAt: now })
    assert.deepStrictEqual(after(suspect, answer(200, { etag: "\"2\"" }), known), { etag: "\"2\"" })
    assert.deepStrictEqual(after(suspect, answer(200, { etag: "\"3\"" }), news), { etag: "\"3\"" })
  })

  it("are held again a week after the lie, and proved by the next news", () => {
    const caughtLyingAt = now - 7 * 86_400_000
    const given = { etag: "\"1\"", "last-modified": day }
    const trial = { etag: "\"1\"", lastModified: day, trust: "trial", caughtLyingAt } as const
    const lying = { trust: "lying", caughtLyingAt: now } as const
    assert.deepStrictEqual(after({ trust: "lying", caughtLyingAt }, answer(200, given), known), trial)
    assert.deepStrictEqual(after({ trust: "lying", caughtLyingAt }, answer(200), known), {
      trust: "lying",
      caughtLyingAt: caughtLyingAt
    })
    assert.deepStrictEqual(after({ trust: "lying", caughtLyingAt: caughtLyingAt + 1 }, answer(200, given), known), {
      trust: "lying",
      caughtLyingAt: caughtLyingAt + 1
    })
    const next = answer(200, { etag: "\"2\"" })
    assert.deepStrictEqual(after(trial, answer(200, given), known), trial)
    assert.deepStrictEqual(after(trial, next, known), { etag: "\"2\"", trust: "trial", caughtLyingAt })
    assert.deepStrictEqual(after(trial, answer(200, given), news), lying)
    assert.deepStrictEqual(after(trial, answer(304), known), lying)
    const suspect = after(trial, next, news)
    assert.deepStrictEqual(suspect, { ...trial, trust: "suspect" })
    assert.deepStrictEqual(after(suspect, answer(304), known), lying)
    assert.deepStrictEqual(after(suspect, next, known), { etag: "\"2\"" })
  })
})
