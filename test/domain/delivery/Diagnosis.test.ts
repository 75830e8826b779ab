import { assert, describe, it } from "@effect/vitest"
import { diagnose } from "#domain/delivery/Diagnosis.ts"
import type { LoggedAttempt } from "#domain/delivery/DeliveryLogEntry.ts"
import type { FailureReason } from "#domain/delivery/FailureReason.ts"
import type { ResourceProfile } from "#domain/poll/Resource.ts"
import type { SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"

const item = (
  subscription: Partial<Subscription> = {},
  more: Partial<SubscriptionItem> = {},
  resource: Partial<ResourceProfile> = {}
): SubscriptionItem => ({
  subscription: {
    id: 7,
    accountId: 1,
    resourceId: 3,
    topic: "https://a.example/",
    channel: "webhook",
    endpoint: "https://b.example/hook",
    host: "b.example",
    face: "api",
    state: "active",
    createdAt: 0,
    ...subscription
  },
  resource: {
    id: 3,
    kind: "feed",
    nextFetch: 2_000,
    lastFetch: 1_000,
    period: 60,
    code: 200,
    http: "Fetched (ring) 200 60 and parsed 1/1 entries",
    generatedIds: false,
    entriesSinceMaintenance: 0,
    ...resource
  },
  ...more
})

const failed = (reason: FailureReason, code: number, message: string): LoggedAttempt => ({
  id: "7-1-1",
  outcome: "failed",
  subscriptionId: 7,
  topic: "https://a.example/",
  endpoint: "https://b.example/hook",
  triedAt: 1_000,
  sequence: 1,
  attempt: 1,
  code,
  reason,
  message
})

const failing = { failing: { since: 1_000, announced: 0 } }

describe("diagnose", () => {
  it("names the cause of each failing callback, and a remedy", () => {
    const sentenceOf = (reason: FailureReason, code = 0, message = "No.") => {
      const { sentence, state, tone } = diagnose(item(failing), failed(reason, code, message))
      assert.deepStrictEqual([state, tone], ["callback fails", "bad"])
      return sentence
    }
    assert.match(
      sentenceOf("refused-address"),
      /^No\. The name of the callback resolves to an address .*\(WINDHOVER_ALLOWED_ADDRESSES\)/
    )
    assert.match(
      sentenceOf("unauthorized", 401, "The callback answered 401."),
      /^The callback answered 401\. The callback requires a login/
    )
    assert.match(sentenceOf("redirect", 302), /Redirects are not followed: subscribe the new URL\./)
    assert.match(sentenceOf("tls"), /Renew the certificate\.$/)
    assert.strictEqual(
      sentenceOf("redirect", 302, "The callback answered 302. Redirects are not followed: subscribe the new URL."),
      "The callback answered 302. Redirects are not followed: subscribe the new URL."
    )
    assert.match(sentenceOf("dns", 0, "b.example is unknown"), /^b\.example is unknown\. The name of the callback/)
    assert.match(sentenceOf("dns", 0, ""), /^The name of the callback/)
    assert.strictEqual(diagnose(item(failing)).sentence, "Every delivery fails.")
  })

  it("tells pauses, pending subscriptions and lost secrets", () => {
    assert.deepStrictEqual(diagnose(item({ state: "paused" })), {
      tone: "warn",
      state: "paused",
      sentence: "Paused: nothing is sent before you resume the subscription."
    })
    assert.match(diagnose(item({ state: "paused" }), failed("gone", 410, "Gone.")).sentence, /subscription\. Gone\. /)
    assert.strictEqual(diagnose(item({ state: "pending" })).state, "not confirmed")
    assert.strictEqual(diagnose(item({ unreadable: "no key", state: "paused" })).state, "secret lost")
    assert.strictEqual(diagnose(item({}, { deliveries: { waiting: 0, dropped: 2 } })).state, "dropped some")
  })

  it("tells a failing and a silent resource from one that delivers", () => {
    const { lastFetch: _, ...unfetched } = item().resource
    assert.strictEqual(diagnose({ ...item(), resource: unfetched }).state, "first fetch due")
    assert.deepStrictEqual(diagnose(item({}, {}, { code: 503, http: "Fetched (ring) 503 60" })), {
      tone: "bad",
      state: "resource fails",
      sentence: "The resource cannot be read, so that there is nothing to send: Fetched (ring) 503 60."
    })
    assert.strictEqual(
      diagnose(item({}, {}, { http: "Fetched (ring) 200 60: Parser Error no feed" })).state,
      "resource fails"
    )
    assert.strictEqual(diagnose(item()).state, "silent")
    assert.strictEqual(diagnose(item({}, { lastSuccessAt: 1_000 })).state, "delivering")
    assert.strictEqual(diagnose(item({ channel: "null" })).state, "followed")
  })
})
