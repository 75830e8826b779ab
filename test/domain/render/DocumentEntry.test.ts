import { assert, describe, it } from "@effect/vitest"
import type { Document } from "#domain/delivery/Notification.ts"
import { documentToEntry, isInFormat } from "#domain/render/DocumentEntry.ts"

const document = (contentType: string, body: string | Uint8Array): Document => ({
  contentType,
  body: typeof body === "string" ? new TextEncoder().encode(body) : body
})

const status = { feed: "http://pages.example/#p", lastParse: 1_000 }

describe("DocumentEntry", () => {
  it("has the type of the document and a link to the topic", () => {
    const { content, id, links, updated } = documentToEntry(document("text/css", "p {}"), status)
    assert.deepStrictEqual({ content, links, updated }, {
      content: [{ type: "text/css", value: "p {}" }],
      links: [{ rel: "alternate", type: "text/css", href: "http://pages.example/#p" }],
      updated: 1_000
    })
    assert.match(id, /^urn:windhover:[0-9a-f]{16}:[0-9a-f]{16}$/)
  })

  it("has an id that changes with the document and with the topic", () => {
    const id = (body: string, feed = status.feed) => documentToEntry(document("text/css", body), { feed }).id
    assert.strictEqual(id("a"), id("a"))
    assert.notStrictEqual(id("a"), id("b"))
    assert.notStrictEqual(id("a"), id("a", "http://pages.example/"))
  })

  it("contains text in its charset, and binary documents in base64", () => {
    const value = (of: Document) => documentToEntry(of, status).content?.[0]?.value
    assert.strictEqual(value(document("text/plain; charset=iso-8859-1", Uint8Array.of(0xe9))), "é")
    assert.strictEqual(value(document("text/csv; charset=cp1251", Uint8Array.of(0xcf, 0xee, 0xe3))), "Пог")
    assert.strictEqual(
      value(document("text/html", Buffer.from("<html><meta charset=l2>\xe8", "latin1"))),
      "<html><meta charset=l2>č"
    )
    assert.strictEqual(value(document("text/plain; charset=nonsense", "é")), "é")
    assert.strictEqual(value(document("application/ld+json", "{}")), "{}")
    assert.strictEqual(value(document("image/png", Uint8Array.of(0x89, 0x50, 0))), "iVAA")
  })

  it("is not needed for a JSON document in JSON format, with any Content-Type", () => {
    assert.isTrue(isInFormat(document("application/vnd.api+json; charset=utf-8", "{}"), "json"))
    assert.isTrue(isInFormat(document("text/html", " [1]"), "json"))
    assert.isFalse(isInFormat(document("text/plain", "[draft] one"), "json"))
    assert.isFalse(isInFormat(document("text/plain", "1"), "json"))
    assert.isFalse(isInFormat(document("application/json", "{}"), "atom"))
  })
})
