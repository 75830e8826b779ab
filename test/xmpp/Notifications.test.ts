import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { Entry } from "#domain/feed/Entry.ts"
import type { News } from "#domain/delivery/Notification.ts"
import { maxStanzaBytes, type OutgoingMessage, renderMessages } from "#xmpp/Notifications.ts"
import { children, content, type Element, names, parse } from "#test/domain/render/xml.ts"
import { hostile, model } from "#test/generators/Model.ts"

const EXT = "http://ext.example/ns"
const topic = "http://feeds.test/a?b&c"

const letter = (news: News, style: Partial<OutgoingMessage["style"]> = {}): OutgoingMessage => ({
  from: "push.x.test",
  to: "ann@x.test",
  id: "5-7",
  topic,
  notification: { id: 5, resourceId: 1, createdAt: 0, status: { title: "A feed", code: 200, http: "Fetched" }, news },
  style: { format: undefined, extNamespace: EXT, ...style }
})

const entries = (...list: ReadonlyArray<Entry>): News => ({ _tag: "Entries", entries: list })
const entry = (id: string, value = ""): Entry => ({ id, content: [{ value, type: "text" }] })

const only = (letter: OutgoingMessage): Element => {
  const [message, ...more] = renderMessages(letter)
  assert.strictEqual(more.length, 0)
  return parse(message ?? "")
}

const within = (element: Element | undefined, ...path: ReadonlyArray<string>): Element => {
  const found = path.reduce<Element | undefined>(
    (at, name) => at === undefined ? undefined : children(at).find((child) => child.name === name),
    element
  )
  if (found === undefined) throw new Error(`nothing at ${path.join("/")}`)
  return found
}

const ids = (message: string) =>
  children(within(parse(message), "event", "items")).map((item) => content(within(item, "entry", "id")))

const legacy = { isLegacy: true }

describe("Notifications", () => {
  it("are messages of no type, with status first, then items", () => {
    const message = only(letter(entries(entry("one"))))
    assert.deepStrictEqual(message.attributes, { from: "push.x.test", to: "ann@x.test", id: "5-7" })
    const event = within(message, "event")
    assert.strictEqual(event.attributes["xmlns"], "http://jabber.org/protocol/pubsub#event")
    assert.deepStrictEqual(names(event), ["status", "items"])
    assert.deepStrictEqual(within(event, "status").attributes, { feed: topic, xmlns: EXT })
    assert.deepStrictEqual(names(within(event, "status")).slice(0, 3), ["http", "next_fetch", "title"])
    assert.deepStrictEqual(within(event, "items").attributes, { node: topic })
  })

  it("have one item a message, with its id, the oldest first and numbered", () => {
    const parts = renderMessages(letter(entries(entry("three"), entry("two"), entry("one"))))
    assert.deepStrictEqual(parts.map(ids), [["one"], ["two"], ["three"]])
    assert.deepStrictEqual(parts.map((part) => parse(part).attributes["id"]), ["5-7", "5-7-2", "5-7-3"])
    const items = parts.map((part) => within(parse(part), "event", "items", "item").attributes)
    assert.deepStrictEqual(items, [{ id: "one" }, { id: "two" }, { id: "three" }])
    for (const part of parts) assert.deepStrictEqual(names(within(parse(part), "event")), ["status", "items"])
  })

  it("have all items in one message for old clients, without ids", () => {
    const message = only(letter(entries(entry("one"), entry("two")), legacy))
    const items = children(within(message, "event", "items"))
    assert.deepStrictEqual(items.map((item) => content(within(item, "entry", "id"))), ["one", "two"])
    const attributes = { xmlns: "http://jabber.org/protocol/pubsub" }
    assert.deepStrictEqual(items.map((item) => item.attributes), [attributes, attributes])
  })

  it.each([
    ["an empty id", "", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ["a line break", "a\nb", "sha256:0a397d5744cb388e71ca0f809906b50e72c8ac1daba625fdd5a32535e684a417"],
    ["1,023 bytes", "é".repeat(511) + "a", "é".repeat(511) + "a"],
    ["markup", "<a&\"b\"> 'c'", "<a&\"b\"> 'c'"]
  ])("name the item by the entry's id or its hash: %s", (_, id, wanted) => {
    const item = within(only(letter(entries(entry(id)))), "event", "items", "item")
    assert.strictEqual(item.attributes["id"], wanted)
  })

  it("tell apart ids that an attribute cannot hold", () => {
    const odd = [
      "a\u0001",
      "a",
      "a\u0002",
      "\ud800",
      "\ud801",
      "\ufffd",
      "a\tb",
      "a b",
      "a".repeat(1024),
      "a".repeat(1025)
    ]
    const parts = renderMessages(letter(entries(...odd.map((id) => entry(id)))))
    const itemIds = parts.map((part) => within(parse(part), "event", "items", "item").attributes["id"] ?? "")
    assert.strictEqual(new Set(itemIds).size, odd.length)
    assert.deepStrictEqual(itemIds.filter((id) => !id.startsWith("sha256:")), ["a b", "\ufffd", "a"])
  })

  it("carry JSON as text", () => {
    const written = within(only(letter(entries(entry("one", "a < b")), { format: "json" })), "event", "items", "item")
    assert.deepStrictEqual(within(written, "content").attributes, { xmlns: "http://www.w3.org/2005/Atom" })
    assert.deepStrictEqual(JSON.parse(content(written)), { id: "one", content: "a < b" })
  })

  it("of an error have an empty list", () => {
    const event = within(only(letter({ _tag: "Failure" })), "event")
    assert.deepStrictEqual(names(event), ["status", "items"])
    assert.deepStrictEqual(children(within(event, "items")), [])
  })

  it("carry a document with its type: text as it is, other bytes in base64", () => {
    const document = (contentType: string, body: string) =>
      within(
        only(letter({ _tag: "Document", document: { contentType, body: Buffer.from(body, "latin1") } })),
        "event",
        "items",
        "item",
        "content"
      )
    const json = document("application/json", "{\"a\":\"<b>\"}")
    assert.deepStrictEqual(json.attributes, { xmlns: "http://www.w3.org/2005/Atom", type: "application/json" })
    assert.strictEqual(content(json), "{\"a\":\"<b>\"}")
    assert.strictEqual(content(document("text/plain; charset=iso-8859-1", "\xe9")), "é")
    assert.strictEqual(content(document("text/plain; charset=nonsense", "e")), "e")
    assert.strictEqual(content(document("image/png", "\x89PNG")), "iVBORw==")
  })

  it("name a document by its content", () => {
    const id = (body: string) => {
      const document = { contentType: "text/plain", body: new TextEncoder().encode(body) }
      return within(only(letter({ _tag: "Document", document })), "event", "items", "item").attributes["id"]
    }
    assert.match(id("a") ?? "", /^urn:windhover:[0-9a-f]+:[0-9a-f]+$/)
    assert.strictEqual(id("a"), id("a"))
    assert.notStrictEqual(id("a"), id("b"))
  })

  it("name no language but the entry's own", () => {
    const title = { value: "t", type: "text", language: "" }
    const render = (language?: string) =>
      renderMessages(letter(entries({ id: "one", title, ...(language === undefined ? {} : { language }) }))).join("")
    assert.notInclude(render(), "xml:lang")
    assert.deepStrictEqual(render("de").match(/xml:lang="[^"]*"/g), ["xml:lang=\"de\"", "xml:lang=\"\""])
  })

  it("for old clients are split in order and numbered beyond the size of a stanza", () => {
    const large = ["1", "2", "3", "4", "5"].map((id) => entry(id, "x".repeat(100_000)))
    const parts = renderMessages(letter(entries(...large), legacy))
    assert.deepStrictEqual(parts.map(ids), [["1", "2"], ["3", "4"], ["5"]])
    assert.deepStrictEqual(parts.map((part) => parse(part).attributes["id"]), ["5-7", "5-7-2", "5-7-3"])
  })

  it("shorten and mark an entry above the size of a stanza", () => {
    const [message = ""] = renderMessages(letter(entries(entry("one", "é😀<".repeat(100_000)))))
    assert.isAtMost(Buffer.byteLength(message), maxStanzaBytes)
    const cut = within(parse(message), "event", "items", "item", "entry", "content")
    assert.deepStrictEqual(cut.attributes, { type: "text", truncated: "true" })
    assert.isAbove(content(cut).length, 10_000)
    assert.isTrue("é😀<".repeat(100_000).startsWith(content(cut)))
  })

  it("shorten JSON and documents so that they stay readable", () => {
    const [json = ""] = renderMessages(letter(entries(entry("one", "\"\n".repeat(200_000))), { format: "json" }))
    const item = within(parse(json), "event", "items", "item", "content")
    assert.strictEqual(item.attributes["truncated"], "true")
    assert.strictEqual(JSON.parse(content(item)).id, "one")
    const body = new TextEncoder().encode("&".repeat(300_000))
    const [document = ""] = renderMessages(letter({ _tag: "Document", document: { contentType: "text/plain", body } }))
    assert.isAtMost(Buffer.byteLength(document), maxStanzaBytes)
    assert.strictEqual(within(parse(document), "event", "items", "item", "content").attributes["truncated"], "true")
  })

  it("omit thousands of links and an endless id of an entry", () => {
    const links = Array.from(
      { length: 5_000 },
      (_, i) => ({ href: `http://a.test/${"b".repeat(100)}${i}`, rel: "alternate" })
    )
    const [many = ""] = renderMessages(letter(entries({ ...entry("one", "text"), links })))
    assert.isAtMost(Buffer.byteLength(many), maxStanzaBytes)
    assert.deepStrictEqual(ids(many), ["one"])
    const [endless = ""] = renderMessages(letter(entries(entry("i".repeat(400_000)))))
    assert.isAtMost(Buffer.byteLength(endless), maxStanzaBytes)
  })

  it("are well-formed XML of bounded size for any feed", () => {
    const { entry, status } = model(hostile)
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 4 }),
        status,
        hostile,
        fc.constantFrom("atom" as const, "json" as const),
        fc.boolean(),
        (entries, status, topic, format, isLegacy) => {
          const base = letter({ _tag: "Entries", entries }, { format, isLegacy })
          const parts = renderMessages({ ...base, topic, notification: { ...base.notification, status } }, 20_000)
          for (const part of parts) {
            parse(part)
            assert.isAtMost(Buffer.byteLength(part), 20_000)
          }
          const items = parts.flatMap((part) => children(within(parse(part), "event", "items")))
          assert.strictEqual(items.length, entries.length)
          if (!isLegacy) assert.strictEqual(parts.length, Math.max(1, entries.length))
        }
      ),
      { numRuns: 60 }
    )
  })
})
