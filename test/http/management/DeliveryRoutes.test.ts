import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type DeliveriesRequest, DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import type { LoggedAttempt, LoggedDenial } from "#domain/delivery/DeliveryLogEntry.ts"
import { makeManagementApi, management } from "#test/support/Api.ts"

const failed: LoggedAttempt = {
  id: "7-3-99",
  outcome: "failed",
  subscriptionId: 7,
  topic: "http://a.example/feed",
  endpoint: "http://b.example/hook",
  triedAt: 1_000,
  sequence: 4,
  attempt: 2,
  notificationId: "5-7",
  code: 503,
  reason: "server-error",
  message: "The callback answered 503.",
  answer: "busy",
  latency: 12,
  bytes: 900,
  nextTry: 6_000
}
const failedJson = {
  id: "7-3-99",
  time: "1970-01-01T00:00:01.000Z",
  outcome: "failed",
  topic: "http://a.example/feed",
  callback: "http://b.example/hook",
  subscription: 7,
  sequence: 4,
  attempt: 2,
  notification: "5-7",
  code: 503,
  reason: "server-error",
  message: "The callback answered 503.",
  answer: "busy",
  milliseconds: 12,
  bytes: 900,
  nextTry: "1970-01-01T00:00:06.000Z"
}
const denied: LoggedDenial = {
  id: "98",
  outcome: "denied",
  topic: "http://a.example/feed",
  endpoint: "http://c.example/",
  triedAt: 900,
  code: 0,
  reason: "refused-intent",
  message: "no"
}

const withReports = (reports: Partial<DeliveryReports["Service"]>) =>
  makeManagementApi(Layer.merge(management, Layer.mock(DeliveryReports, reports)))

describe("delivery routes", () => {
  it.effect("list events with all filters, and a cursor of this list", () =>
    Effect.gen(function*() {
      const requests: Array<Omit<DeliveriesRequest, "caller">> = []
      const api = yield* withReports({
        list: ({ caller: _, ...request }) =>
          Effect.sync(() => {
            requests.push(request)
            return { items: [failed, denied], next: "98" }
          })
      })
      const { json } = yield* api("GET", "/api/deliveries")
      const [first, second] = json.deliveries
      assert.deepStrictEqual(first, failedJson)
      assert.deepStrictEqual(second, {
        id: "98",
        time: "1970-01-01T00:00:00.900Z",
        outcome: "denied",
        topic: "http://a.example/feed",
        callback: "http://c.example/",
        reason: "refused-intent",
        message: "no"
      })
      yield* api("GET", "/api/deliveries", {
        subscription: "7",
        host: "B.example",
        topic: "http://a.example/feed",
        outcome: "failed",
        reason: "timeout",
        code: "0",
        from: "1970-01-01T00:00:01Z",
        to: "1970-01-01T01:00:02+01:00",
        limit: "5",
        cursor: json.next
      })
      assert.deepStrictEqual(requests, [{ limit: 20, ofAll: false }, {
        limit: 5,
        ofAll: false,
        subscriptionId: 7,
        topic: "http://a.example/feed",
        outcome: "failed",
        reason: "timeout",
        code: 0,
        host: "b.example",
        from: 1_000,
        to: 2_000,
        after: "98"
      }] as unknown)
    }))

  it.effect("name the words of a wrong filter", () =>
    Effect.gen(function*() {
      const api = yield* withReports({})
      const messageOf = (input: object) =>
        Effect.map(api("GET", "/api/deliveries", input), ({ json, status }) => [status, json.error.message])
      assert.deepStrictEqual(yield* messageOf({ code: "1000" }), [
        422,
        `code has to be a whole number from 0 to 999; received "1000".`
      ])
      assert.deepStrictEqual(yield* messageOf({ from: "yesterday" }), [
        422,
        `from has to be a time such as 2026-01-31T09:30:00Z; received "yesterday".`
      ])
      assert.deepStrictEqual(yield* messageOf({ to: "2026-02-30T00:00:00Z" }), [
        422,
        `to has to be a time such as 2026-01-31T09:30:00Z; received "2026-02-30T00:00:00Z".`
      ])
      assert.match(String((yield* messageOf({ outcome: "lost" }))[1]), /^outcome has to be "delivered" or "failed" or/)
      assert.match(String((yield* messageOf({ reason: "x" }))[1]), /^reason has to be "refused-address" or "dns"/)
    }))

  it.effect("show one event with its explanation and its request", () =>
    Effect.gen(function*() {
      const bodies = new Map([["text", Buffer.from("grüß")], ["bytes", Buffer.from([255, 0])], [
        "long",
        Buffer.alloc(2 << 20, "ü")
      ]])
      const api = yield* withReports({
        show: ({ id }) => {
          const body = bodies.get(id)
          return Effect.succeed(
            body === undefined ? { event: failed } : { event: failed, request: { headers: [["A", "b"]], body } }
          )
        }
      })
      const requestOf = (id: string) => Effect.map(api("GET", `/api/deliveries/${id}`), ({ json }) => json.request)
      const plain = yield* api("GET", "/api/deliveries/7-3-99")
      assert.deepStrictEqual(plain.json, {
        ...failedJson,
        explanation: "The callback failed. Its own log has the reason."
      })
      const headers = [{ name: "A", value: "b" }]
      assert.deepStrictEqual(yield* requestOf("text"), { headers, body: "grüß", encoding: "utf-8", truncated: false })
      assert.deepStrictEqual(yield* requestOf("bytes"), { headers, body: "/wA=", encoding: "base64", truncated: false })
      const long = yield* requestOf("long")
      assert.deepStrictEqual([long.body, long.truncated], ["ü".repeat(1 << 19), true])
      const method = yield* api("POST", "/api/deliveries/7-3-99")
      assert.strictEqual(method.status, 405)
    }))

  it.effect("let operators alone read all accounts", () =>
    Effect.gen(function*() {
      const api = yield* withReports({
        list: () => Effect.succeed({ items: [] }),
        show: () => Effect.succeed({ event: failed })
      })
      for (const path of ["/api/deliveries", "/api/deliveries/7-3-99"]) {
        assert.strictEqual((yield* api("GET", path, { all: "false" })).status, 200)
        const answer = yield* api("GET", path, { all: "true" })
        assert.deepStrictEqual([answer.status, answer.json.error.code], [403, "forbidden"])
        assert.strictEqual((yield* api("GET", path, {}, "publish")).status, 403)
      }
    }))

  it.effect("record a subscription for an hour by default", () =>
    Effect.gen(function*() {
      const asked: Array<number> = []
      const api = yield* withReports({
        record: ({ minutes, subscription }) =>
          Effect.sync(() => {
            asked.push(minutes)
            return { subscription: { id: subscription ?? 0 } as never, until: 5_000 }
          })
      })
      const { json } = yield* api("POST", "/api/deliveries/record", { subscription: 7 })
      assert.deepStrictEqual(json, { subscription: 7, until: "1970-01-01T00:00:05.000Z" })
      yield* api("POST", "/api/deliveries/record", { subscription: 7, minutes: 10 })
      assert.deepStrictEqual(asked, [60, 10])
      assert.strictEqual((yield* api("POST", "/api/deliveries/record", { subscription: 7, minutes: 61 })).status, 422)
      assert.strictEqual((yield* api("POST", "/api/deliveries/record", { subscription: 7 }, "list")).status, 403)
      assert.strictEqual((yield* api("GET", "/api/deliveries/record")).status, 405)
    }))
})
