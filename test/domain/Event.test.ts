import { assert, describe, it } from "@effect/vitest"
import { boundTexts } from "#domain/Event.ts"

describe("Event", () => {
  it("has no password of a callback or a topic, and bounded texts in one line", () => {
    assert.deepStrictEqual(
      boundTexts({
        type: "subscription.ended",
        accountId: 1,
        subscriptionId: 2,
        topic: "https://reader@a.example/feed",
        endpoint: "https://user:pass@word@b.example/hook?mail=c@d",
        reason: "gone",
        message: `two\nlines ${"x".repeat(4_000)}`
      }),
      {
        type: "subscription.ended",
        accountId: 1,
        subscriptionId: 2,
        topic: "https://***@a.example/feed",
        endpoint: "https://***@b.example/hook?mail=c@d",
        reason: "gone",
        message: `two lines ${"x".repeat(2_038)}`
      }
    )
  })
})
