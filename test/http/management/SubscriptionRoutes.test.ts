import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ListedSubscription, ListRequest } from "#actors/operations/Hub.ts"
import { accounts, assertDescribed, basic, makeApi, management, writes } from "#test/support/Api.ts"

const item = (id: number, more: Partial<ListedSubscription> = {}): ListedSubscription => ({
  subscription: {
    id,
    accountId: 1,
    resourceId: 3,
    topic: "https://a.example/",
    channel: "webhook",
    endpoint: "https://b.example/hook",
    host: "b.example",
    face: "api",
    state: "active",
    createdAt: 0
  },
  resource: {
    id: 3,
    kind: "feed",
    nextFetch: 2_000,
    lastFetch: 1_000,
    period: 60,
    generatedIds: false,
    entriesSinceMaintenance: 0
  },
  ...more
})

describe("GET /api/subscriptions", () => {
  it.effect("lists the newest subscriptions page by page, each with its diagnosis", () =>
    Effect.gen(function*() {
      const seen: Array<Omit<ListRequest, "caller">> = []
      const call = yield* makeApi(
        {
          list: ({ caller: _, ...request }) =>
            Effect.sync(() => {
              seen.push(request)
              const items = [
                item(9, {
                  deliveries: { waiting: 1, dropped: 2 },
                  lastSequence: 5,
                  nextTryAt: 2_000,
                  lastSuccessAt: 1_000
                }),
                item(8),
                item(7)
              ]
              return { items: items.slice(0, request.after === undefined ? 3 : 1), total: undefined }
            })
        },
        accounts,
        {},
        writes,
        management
      )
      const get = (query: string, secret = "wonder") =>
        Effect.map(call(`/api/subscriptions?${query}`, { headers: basic(secret) }), (answer) => ({
          ...answer,
          json: JSON.parse(answer.body)
        }))
      const first = yield* get("limit=2&search=endpoint.failing:true")
      assertDescribed("/api/subscriptions", first)
      assert.deepStrictEqual(first.json.subscriptions, [
        {
          subscription: 9,
          topic: "https://a.example/",
          callback: "https://b.example/hook",
          channel: "webhook",
          state: "active",
          resource: 3,
          sequence: 5,
          waiting: 1,
          dropped: 2,
          nextTry: "1970-01-01T00:00:02.000Z",
          lastSuccess: "1970-01-01T00:00:01.000Z",
          diagnosis: "The callback works again. Notifications were dropped before; recover sends them."
        },
        {
          subscription: 8,
          topic: "https://a.example/",
          callback: "https://b.example/hook",
          channel: "webhook",
          state: "active",
          resource: 3,
          sequence: 0,
          waiting: 0,
          dropped: 0,
          diagnosis:
            "The resource is read, and had nothing new since you subscribed. Send a test, or wait for an entry."
        }
      ])
      const last = yield* get(`limit=2&cursor=${first.json.next}`)
      assert.deepStrictEqual([last.json.subscriptions.length, last.json.next], [1, undefined])
      const common = { page: 1, byPage: 3, newestFirst: true, counted: "items" as const }
      assert.deepStrictEqual(seen, [
        { ...common, search: { ranks: [], endpointFailing: true } },
        { ...common, after: 8 }
      ])
      assert.strictEqual((yield* get("", "publish")).status, 403)
    }))
})
