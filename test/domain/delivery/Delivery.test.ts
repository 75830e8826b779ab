import { assert, describe, it } from "@effect/vitest"
import { afterFailure, hubUrlOf, isAfterOutage, render } from "#domain/delivery/Delivery.ts"
import type { Face } from "#domain/Subscription.ts"

/** All waits of a delivery that always fails, in seconds. */
const waits = (face: Face, since = 1_000_000_000) => {
  const all: Array<number> = []
  for (let failed = 1;; failed++) {
    const next = afterFailure(face, failed, since, 1_000_000_000)
    if (next._tag === "Drop") return all
    all.push((next.dueAt - 1_000_000_000) / 1000)
  }
}

describe("Delivery", () => {
  it("is tried again three times on the API face", () => {
    assert.deepStrictEqual(waits("api"), [5, 10, 15])
  })

  it("is tried again for most of a day on the hub face, after twice the wait each time", () => {
    const all = waits("hub")
    assert.deepStrictEqual(all, [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240, 20480, 40960])
    assert.strictEqual(all.reduce((sum, wait) => sum + wait, 0), 81_915)
  })

  it("waits for a day at most, however long others before it have", () => {
    const hours = (age: number) => 1_000_000_000 - age * 3_600_000
    assert.deepStrictEqual(waits("api", hours(23)), [5, 10, 15])
    assert.deepStrictEqual(waits("api", hours(24) + 14_999), [5, 10])
    assert.deepStrictEqual(waits("hub", hours(23)), [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560])
    assert.deepStrictEqual(waits("hub", hours(24)), [])
  })

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
