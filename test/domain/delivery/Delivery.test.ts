import { assert, describe, it } from "@effect/vitest"
import {
  describeFailedAttempt,
  hubUrlOf,
  isAfterOutage,
  needsSplit,
  render,
  requestedWait
} from "#domain/delivery/Delivery.ts"
import { attemptText, type Delivery, type News } from "#domain/delivery/Notification.ts"

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

describe("A callback's failed attempt", () => {
  const now = 1_000_000

  it.each<[status: number, retryAfter: string | undefined, seconds: number | undefined]>([
    [429, "60", 60],
    [503, "60", 60],
    [500, "60", undefined],
    [413, "60", undefined],
    [200, "60", undefined],
    [503, undefined, undefined],
    [503, "soon", undefined],
    [503, "0", undefined],
    [503, "-5", undefined],
    [429, "3600", 3_600],
    [429, "86400", 3_600],
    [429, "Thu, 01 Jan 1970 00:18:40 GMT", 120],
    [429, "Thu, 01 Jan 1970 00:16:39 GMT", undefined],
    [429, "9".repeat(400), 3_600]
  ])("with %d and Retry-After: %s asks for a wait of %s s", (status, retryAfter, seconds) => {
    const answer = retryAfter === undefined ? { status } : { status, retryAfter }
    assert.strictEqual(requestedWait(answer, now), seconds === undefined ? undefined : seconds * 1000)
  })

  const entries = (count: number): News => ({
    _tag: "Entries",
    entries: Array.from({ length: count }, (_, i) => ({ id: String(i) }))
  })
  const document = { contentType: "text/plain", body: new Uint8Array(1) }
  const deliveryOf = (news: News): Delivery => ({
    id: 1,
    subscriptionId: 1,
    sequence: 1,
    credits: 0,
    attempt: 0,
    dueAt: 0,
    waitsSince: 0,
    notification: { id: 1, resourceId: 1, createdAt: 0, status: {}, news }
  })
  const alone = (content: string) => `It takes no notification of this size; ${content} cannot be split.`

  it.each<[what: string, news: News, face: "api" | "hub", splits: boolean, reason: string]>([
    [
      "several entries",
      entries(3),
      "api",
      true,
      "It takes no 3 entries at once; they are sent again as two notifications."
    ],
    [
      "two entries",
      entries(2),
      "hub",
      true,
      "It takes no 2 entries at once; they are sent again as two notifications."
    ],
    ["one entry", entries(1), "api", false, alone("one entry")],
    ["a whole feed", { ...entries(3), wholeFeed: document } as News, "hub", false, alone("one document")],
    [
      "entries with a feed for others",
      { ...entries(3), wholeFeed: document } as News,
      "api",
      true,
      "It takes no 3 entries at once; they are sent again as two notifications."
    ],
    ["a document", { _tag: "Document", document }, "api", false, alone("one document")],
    ["a status", { _tag: "Failure" }, "api", false, alone("a status")]
  ])("with 413 to %s splits what can be split, and says what cannot", (_, news, face, splits, reason) => {
    const delivery = deliveryOf(news)
    assert.strictEqual(needsSplit(delivery, { face }, 413), splits)
    assert.isFalse(needsSplit(delivery, { face }, 414))
    const answer = { status: 413, latency: 1.4, excerpt: "nginx" }
    const result = describeFailedAttempt(answer, delivery, { face }, now, 9)
    assert.deepStrictEqual(result, {
      code: 413,
      message: `The callback answered 413. ${reason}`,
      reason: "too-large",
      answer: "nginx",
      latency: 1,
      bytes: 9
    })
    assert.strictEqual(attemptText(result), `The callback answered 413. ${reason} Its answer: nginx`)
  })

  it("is described by its status and its answer, and by the wait that it asks for", () => {
    const describeAnswer = (status: number, excerpt: string, retryAfter = "") =>
      attemptText(
        describeFailedAttempt(
          { status, latency: 1, excerpt, retryAfter },
          deliveryOf(entries(1)),
          { face: "api" },
          now,
          0
        )
      )
    assert.strictEqual(describeAnswer(500, ""), "The callback answered 500.")
    assert.strictEqual(
      describeAnswer(302, ""),
      "The callback answered 302. Redirects are not followed: subscribe the new URL."
    )
    assert.strictEqual(describeAnswer(500, "busy", "5"), "The callback answered 500: busy")
    assert.strictEqual(describeAnswer(500, "x".repeat(600)), `The callback answered 500: ${"x".repeat(500)}`)
    assert.strictEqual(
      describeAnswer(503, "busy", "4.2"),
      "The callback answered 503. It asks to wait 5 s. Its answer: busy"
    )
    assert.strictEqual(describeAnswer(429, "", "86400"), "The callback answered 429. It asks to wait 3600 s.")
  })
})
