import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Hub } from "#actors/operations/Hub.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"
import { toJsonLine } from "#http/Json.ts"
import * as Cursor from "#http/stream/Cursor.ts"
import * as Framing from "#http/stream/Framing.ts"
import { basic } from "#test/support/Api.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

const breaks = ["\n", "\r", "\r\n", "\n\n", "\r\r", "\0", "\u2028"]
const forged = breaks.map((end) => `x${end}event: forged${end}id: 666${end}data: {}${end}${end}`)

/** The fields of the events as a browser reads them: a line ends with CR, LF or both. */
const fieldsOf = (frame: Buffer) => frame.toString().split(/\r\n|\r|\n/).map((line) => line.split(":", 1)[0])

describe("text of publishers and clients cannot start a field of a stream", () => {
  it.each(forged)("in an entry, as JSON: %j", (text) => {
    const entry = { id: text, title: { value: text, type: "text" } }
    const body = renderJson({ status: { feed: text, http: text }, header: { title: entry.title }, entries: [entry] })
    assert.deepStrictEqual(fieldsOf(Framing.frameDocument("events", body, "notification", "1")), [
      "event",
      "id",
      "data",
      "",
      ""
    ])
    assert.strictEqual(Framing.frameDocument("lines", body, "notification", undefined).toString().split("\n").length, 2)
  })

  it.each(forged)("in an entry, as Atom: %j", (text) => {
    const body = renderAtom({
      status: { feed: text },
      header: { title: { value: text, type: "text" } },
      entries: [{ id: text, content: [{ value: text, type: "html" }] }],
      extNamespace: "urn:x",
      self: text
    })
    const fields = fieldsOf(Framing.frameDocument("events", body, "notification", "1"))
    assert.deepStrictEqual(fields.filter((field) => field !== "data"), ["event", "id", "", ""])
  })

  it.each(forged)("in a JSON document: %j", (text) => {
    const body = Buffer.from(JSON.stringify({ [text]: text }, null, "\r\n"))
    const json = toJsonLine({ contentType: "application/json", body })
    assert.deepStrictEqual(fieldsOf(Framing.frameDocument("events", json ?? "", "notification", "1")), [
      "event",
      "id",
      "data",
      "",
      ""
    ])
  })

  it.each(forged)("in an id: %j", (text) => {
    const fields = fieldsOf(Framing.frameDocument("events", "{}", "notification", text))
    assert.deepStrictEqual(fields, ["event", "id", "data", "", ""])
    assert.notInclude(Framing.idField(text), "\0")
  })

  it.each([
    ...forged,
    "",
    "-1",
    "1e3",
    "0x1",
    "1".repeat(16),
    "5:1.",
    "5:1..6:1",
    "5:1,6:1",
    "5 :1",
    "5:1.".repeat(5_000)
  ])(
    "in an id that a client returns: %j",
    (text) => assert.isUndefined(Cursor.parse(text, [5]))
  )

  it("a sent id is parsed back for the resources that still exist", () => {
    const one = new Map([[41, 7]])
    const many = new Map([[41, 7], [42, 0], [1_000_000, 36 ** 6]])
    assert.deepStrictEqual(Cursor.parse(Cursor.format(one), [41]), one)
    assert.deepStrictEqual(Cursor.parse(Cursor.format(many), [...many.keys()]), many)
    assert.deepStrictEqual(Cursor.parse(Cursor.format(many), [42, 43]), new Map([[42, 0]]))
    assert.isUndefined(Cursor.parse(Cursor.format(many), [43]))
    assert.isUndefined(Cursor.parse(Cursor.format(one), [41, 42]))
  })

  it.effect("lastEventId is not repeated", () =>
    Effect.gen(function*() {
      const hub: Partial<Hub["Service"]> = {
        follow: () =>
          Effect.succeed({ past: { status: { feed: "a" }, entries: [] }, heads: new Map([[5, 3]]), topics: new Map() }),
        attach: () => Effect.void
      }
      const { connect } = yield* serveRoutes(hub)
      for (const break_ of ["%0A", "%0D", "%0D%0A", "%E2%80%A8"]) {
        const connection = yield* connect
        yield* connection.send(
          `GET /stream?hub.mode=retrieve&hub.topic=a&lastEventId=1${break_}event:%20forged HTTP/1.1\r\nHost: a\r\n` +
            `Accept: text/event-stream\r\nAuthorization: ${basic().authorization}\r\n\r\n`
        )
        const { headers, status } = yield* connection.receiveHead
        assert.strictEqual(status, 200)
        assert.isFalse([...headers.values()].some((value) => value.includes("forged")))
        const lines = yield* connection.receiveLines(8)
        assert.deepStrictEqual(lines.map((line) => line.slice(0, 10)), [
          "event: gap",
          "id: 3",
          "data: {\"mi",
          "",
          "event: not",
          "id: 3",
          "data: {\"st",
          ""
        ])
        assert.notInclude(lines.join(), "forged")
      }
    }))
})
