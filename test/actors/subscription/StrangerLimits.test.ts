import { assert, describe, it } from "@effect/vitest"
import type { CallbackRecord } from "#actors/limits/DeliveryLimiter.ts"
import { StrangerLimits } from "#actors/subscription/StrangerLimits.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import type { Parcel } from "#domain/ports/Deliverer.ts"
import type { Subscription } from "#domain/Subscription.ts"

const mebibyte = 1 << 20

const parcelOf = (bytes: number): Parcel => ({
  id: "1-1",
  callback: "http://a.example/",
  contentType: "text/plain",
  body: new Uint8Array(bytes),
  headers: []
})

const subscriptionOf = (network?: string): Subscription => ({
  id: 1,
  accountId: 0,
  resourceId: 1,
  topic: "http://feeds.example/",
  channel: "webhook",
  endpoint: "http://a.example/",
  host: "a.example",
  face: "hub",
  state: "active",
  createdAt: 0,
  ...(network === undefined ? {} : { network })
})

const deliveryOf = (attempt: number): Delivery => ({
  id: 1,
  subscriptionId: 1,
  sequence: 1,
  credits: 0,
  attempt,
  dueAt: 0,
  waitsSince: 0,
  notification: {
    id: 1,
    resourceId: 1,
    createdAt: 0,
    status: { code: 200, http: "", lastFetch: 0, nextFetch: 0, period: 60 },
    news: { _tag: "Failure" }
  }
})

const callbackOf = (isFailing = false): CallbackRecord => ({ speed: "prompt", isFailing })
const failed = { verdict: "failed", attempt: { code: 500, message: "" } } as const

describe("StrangerLimits", () => {
  it.each(
    [
      ["a first small document", 65_536, 0, false, { mayIntroduce: true, stopsEarly: undefined }],
      ["a first large document", 65_537, 0, false, { mayIntroduce: false, stopsEarly: undefined }],
      ["a small document again", 65_536, 1, false, { mayIntroduce: false, stopsEarly: undefined }],
      ["a large document after another one failed", 65_537, 0, true, { mayIntroduce: false, stopsEarly: true }]
    ] as const
  )("guards %s", (_, bytes, attempt, isFailing, expected) => {
    const limits = new StrangerLimits()
    const parcel = limits.guard(
      parcelOf(bytes),
      deliveryOf(attempt),
      subscriptionOf("192.0.2.0/24"),
      callbackOf(isFailing)
    )
    const { consent, stopsEarly } = parcel
    assert.deepStrictEqual({ mayIntroduce: consent?.mayIntroduce, stopsEarly }, expected)
    assert.deepStrictEqual(
      ["192.0.2.0/24", "192.0.3.0/24"].map((network) => consent?.isAgreed(network)),
      [true, false]
    )
  })

  it("checks no network of a subscription that has none", () => {
    assert.notProperty(
      new StrangerLimits().guard(parcelOf(1), deliveryOf(0), subscriptionOf(), callbackOf()),
      "consent"
    )
  })

  it("refuses large documents for failing callbacks after 64 MiB of failed uploads in their network, for a minute each MiB", () => {
    const limits = new StrangerLimits()
    const large = parcelOf(8 * mebibyte)
    const refuse = (network: string, now: number, parcel = large) =>
      limits.refuse(parcel, deliveryOf(1), subscriptionOf(network), callbackOf(), now)
    const failUpload = (network: string, parcel = large) =>
      limits.record(parcel, subscriptionOf(network), callbackOf(), failed, 0)
    for (let i = 0; i < 8; i++) {
      assert.isUndefined(refuse("a", 0), `upload ${i}`)
      failUpload("a")
    }
    assert.deepInclude(refuse("a", 0), { verdict: "failed", requestedWait: 56_250 })
    assert.isUndefined(refuse("a", 0, parcelOf(65_536)))
    assert.isUndefined(refuse("b", 0))
    assert.isUndefined(limits.refuse(large, deliveryOf(0), subscriptionOf("a"), callbackOf(), 0))
    assert.isUndefined(refuse("a", 56_250))
    for (let i = 0; i < 1_000; i++) failUpload("b", parcelOf(65_536))
    assert.isUndefined(refuse("b", 0))
  })

  it("counts no document that was not sent, and forgets a failure after a success", () => {
    const limits = new StrangerLimits()
    const callback = callbackOf()
    const large = parcelOf(8 * mebibyte)
    for (let i = 0; i < 20; i++) {
      limits.record(large, subscriptionOf("a"), callback, { ...failed, isElsewhere: true }, 0)
    }
    assert.isTrue(callback.isFailing)
    assert.isUndefined(limits.refuse(large, deliveryOf(1), subscriptionOf("a"), callback, 0))
    limits.record(large, subscriptionOf("a"), callback, { verdict: "delivered" }, 0)
    assert.isFalse(callback.isFailing)
  })
})
