import { assert, describe, it } from "@effect/vitest"
import { hubUrlOf, isAfterOutage, render } from "#domain/delivery/Delivery.ts"

describe("Delivery", () => {
  it.each([
    ["on time", 0, undefined, false],
    ["when its turn comes, behind one that was tried until now", -9_000_000, 0, false],
    ["after a restart", -299_000, undefined, false],
    ["by a service that was down", -301_000, undefined, true],
    ["by one that has waited for its database since the last try", -301_000, -301_001, true]
  ])("a try %s says whether nobody could try", (_, dueAt, triedAt, away) => {
    assert.strictEqual(isAfterOutage(dueAt, triedAt, 0), away)
  })

  it.each(
    [
      ["json", undefined, "application/json; charset=utf-8"],
      ["json", true, "text/plain"],
      ["atom", undefined, "application/atom+xml"],
      ["atom", true, "text/plain"],
      [undefined, undefined, "text/plain"]
    ] as const
  )("sends what is no feed as %s (for feeds alone: %s) as %s", (format, feedsOnly, contentType) => {
    const document = { contentType: "text/plain", body: new TextEncoder().encode("hello") }
    const notification = {
      id: 1,
      resourceId: 1,
      createdAt: 0,
      status: {},
      news: { _tag: "Document" as const, document }
    }
    const sender = { baseUrl: "https://push.example", hubOpen: true, extNamespace: "urn:ext", headerPrefix: "X-" }
    const wish = {
      face: "api" as const,
      topic: "http://a.example/",
      ...(format !== undefined && { format }),
      ...(feedsOnly !== undefined && { feedsOnly })
    }
    assert.strictEqual(render(notification, wish, sender).contentType, contentType)
  })

  it("names the open hub, and the API where that is turned off", () => {
    assert.strictEqual(hubUrlOf({ baseUrl: "https://push.example", hubOpen: true }), "https://push.example/hub")
    assert.strictEqual(hubUrlOf({ baseUrl: "https://push.example", hubOpen: false }), "https://push.example/")
  })
})
