import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Hub, ListedSubscription, SubscribeRequest } from "#actors/operations/Hub.ts"
import { Recovery } from "#actors/operations/Recovery.ts"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { management } from "#test/support/Api.ts"
import { serveDashboard } from "#test/support/Dashboard.ts"

const stored: Subscription = {
  id: 7,
  accountId: 1,
  resourceId: 1,
  topic: "https://a.example/feed",
  channel: "webhook",
  endpoint: "https://b.example/hook",
  host: "b.example",
  format: "json",
  feedsOnly: true,
  face: "api",
  state: "paused",
  createdAt: 0
}

/** A dashboard with one subscription. Collects the subscribes and the pauses; a test notification dies. */
const served = Effect.gen(function*() {
  const subscribed: Array<SubscribeRequest> = []
  const paused: Array<number | undefined> = []
  const hub: Partial<Hub["Service"]> = {
    list: () => Effect.succeed({ total: undefined, items: [{ subscription: stored } as ListedSubscription] }),
    subscribe: (request) => Effect.sync(() => (subscribed.push(request), { outcome: "done" as const }))
  }
  const control = Layer.mock(SubscriptionControl, {
    pause: ({ subscription }) => Effect.sync(() => (paused.push(subscription), stored))
  })
  const dashboard = yield* serveDashboard({
    hub,
    services: Layer.mergeAll(management, control, Layer.mock(Recovery, {}))
  })
  return { ...dashboard, subscribed, paused, cookie: yield* dashboard.signIn() }
})

describe("the forms of a subscription", () => {
  it.live("change a paused subscription without resuming it, and keep the rest", () =>
    Effect.gen(function*() {
      const { cookie, paused, send, subscribed } = yield* served
      const answer = yield* send(cookie, "/dashboard/subscriptions/7/edit", { format: "json", retry: "days" })
      assert.strictEqual(answer.status, 303)
      assert.deepStrictEqual(
        subscribed.map(({ feedsOnly, format, retry }) => ({ feedsOnly, format, retry })),
        [{ feedsOnly: true, format: "json", retry: "days" }]
      )
      assert.deepStrictEqual(paused, [7])
    }))

  it.live("send a test to the callback of the form alone", () =>
    Effect.gen(function*() {
      const { cookie, send } = yield* served
      const answer = yield* send(cookie, "/dashboard/subscriptions/new", {
        url: stored.topic,
        channel: "webhook",
        callback: "https://c.example/older"
      })
      assert.deepStrictEqual([answer.status, answer.headers.get("location")], [303, "/dashboard/subscriptions"])
    }))
})
