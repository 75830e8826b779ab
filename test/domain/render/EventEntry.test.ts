import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { boundTexts, encodeEvent, Event, EventJsonSchema } from "#domain/Event.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { eventEntry, eventsHeader } from "#domain/render/EventEntry.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"

const url = "https://hub.example/events"
const at = Date.UTC(2026, 0, 2, 3, 4, 5)

const failing: Event = {
  type: "subscription.failing",
  accountId: 7,
  subscriptionId: 12,
  topic: "https://a.example/feed",
  endpoint: "https://hooks.example/in",
  code: 503,
  message: "Your callback answered 503.",
  failingSince: at - 3_600_000,
  hours: 1
}

const status = { feed: url }

describe("eventEntry", () => {
  it("has a sentence, the cause, and the event as JSON", () => {
    assert.deepStrictEqual(eventEntry({ id: 31, at, event: failing }, url), {
      id: "https://hub.example/events#31",
      title: {
        type: "text",
        value: "Notifications have failed for 1 h: https://hooks.example/in for https://a.example/feed."
      },
      content: [{ type: "text", value: "Your callback answered 503." }],
      published: at,
      updated: at,
      categories: [{ term: "subscription.failing" }],
      language: "en",
      event: {
        version: 1,
        id: 31,
        type: "subscription.failing",
        at: 1_767_323_045,
        data: {
          accountId: 7,
          subscriptionId: 12,
          topic: "https://a.example/feed",
          endpoint: "https://hooks.example/in",
          code: 503,
          message: "Your callback answered 503.",
          failingSince: 1_767_319_445,
          hours: 1
        }
      }
    })
  })

  it("reaches subscribers in JSON and Atom", () => {
    const entry = eventEntry({ id: 31, at, event: failing }, url)
    const json = JSON.parse(renderJson({ status, header: eventsHeader(url), entries: [entry] }))
    assert.deepStrictEqual(json.items[0].event, { ...entry.event })
    const xml = renderAtom({ status, header: eventsHeader(url), entries: [entry], extNamespace: "urn:ext" })
    const [, type, text = ""] = /<sf:event version="1" type="([^"]*)">(.*?)<\/sf:event>/.exec(xml) ?? []
    assert.strictEqual(type, "subscription.failing")
    assert.deepStrictEqual(JSON.parse(text), entry.event)
  })

  it("adds the code to a message that does not name the code", () => {
    const content = (code: number, message: string) =>
      eventEntry({ id: 1, at, event: { ...failing, code, message } }, url).content?.[0]?.value
    assert.strictEqual(content(503, "Service Unavailable"), "503: Service Unavailable")
    assert.strictEqual(content(0, "No answer within 10 s."), "No answer within 10 s.")
  })

  it.prop(
    "has a title for every event, however long and hostile its texts are",
    [Event, Schema.String],
    ([event, text]) => {
      const hostile = Object.fromEntries(
        Object.entries(event).map(([field, value]) =>
          typeof value === "string" && !["type", "reason", "omittedType"].includes(field)
            ? [field, `${value}${text}\u0000\u202e\ud800\r\n<b>${"x".repeat(3_000)}`]
            : [field, value]
        )
      ) as Event
      const bounded = boundTexts(hostile)
      const stored = JSON.parse(JSON.stringify(encodeEvent(bounded)))
      assert.isTrue(Object.values(stored).every((value) => typeof value !== "string" || value.length <= 2_048))
      const entry = eventEntry({ id: 1, at, event: bounded }, url)
      const title = entry.title?.value ?? ""
      assert.match(title, /^[^\u0000-\u001f\u007f-\u009f\u202e]{1,700}$/u)
      assert.isTrue(JSON.stringify(entry).isWellFormed())
      const decoded = Schema.decodeUnknownSync(EventJsonSchema, { onExcessProperty: "error" })(
        JSON.parse(JSON.stringify(entry.event))
      )
      assert.strictEqual(decoded.type, event.type)
      const xml = renderAtom({ status, header: undefined, entries: [entry], extNamespace: "urn:ext" })
      assert.notInclude(xml, "<b>")
    }
  )
})
