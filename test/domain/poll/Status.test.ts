import { assert, describe, it } from "@effect/vitest"
import { statusOf } from "#domain/poll/Resource.ts"
import { initialState } from "#test/support/Resources.ts"

const topic = "https://news.example/rss"

const told = (known: Parameters<typeof initialState>[0]) => {
  const { code, http } = statusOf(initialState({ period: 900, lastParse: 1_000, lastFetch: 2_000, ...known }), topic)
  return [code, http]
}

describe("the status of a resource", () => {
  const parsed = "Fetched (ping) 200 60 and parsed 1/30 entries"

  it("has the code 304 after a fetch of known bytes, whatever the server's own code", () => {
    const unchanged = [304, "Fetched (ring) 304 900"]
    assert.deepStrictEqual(told({ code: 304, http: parsed }), unchanged)
    assert.deepStrictEqual(told({ code: 200, http: parsed }), unchanged)
    assert.deepStrictEqual(told({ code: 203, http: parsed }), unchanged)
    assert.deepStrictEqual(told({ code: 304, http: "Fetched (late) 304 60" }), unchanged)
  })

  it("keeps the code of a read document, and of a failure", () => {
    assert.deepStrictEqual(told({ code: 200, http: parsed, lastParse: 2_000 }), [200, parsed])
    const gone = "Fetched (ring) 404 60"
    assert.deepStrictEqual(told({ code: 404, http: gone }), [404, gone])
    const silent = "Fetched (ring) 0 60: ECONNREFUSED"
    assert.deepStrictEqual(told({ code: 0, http: silent }), [0, silent])
    const unreadable = "Fetched (ring) 200 60: Parser Error mismatched tag"
    assert.deepStrictEqual(told({ code: 200, http: unreadable }), [200, unreadable])
  })

  it("shows the title as plain text", () => {
    const header = { title: { value: "A &amp; <b>B</b>", type: "html" } }
    assert.strictEqual(statusOf(initialState({ header }), topic).title, "A & B")
  })
})
