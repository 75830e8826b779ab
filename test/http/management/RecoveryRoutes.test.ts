import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type ReadNotificationsRequest, Recovery } from "#actors/operations/Recovery.ts"
import type { UndeliveredPosition } from "#domain/ports/Redelivery.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { assertDescribed, makeManagementApi, management } from "#test/support/Api.ts"

const makeRecoveryApi = (recovery: Partial<Recovery["Service"]>) =>
  makeManagementApi(Layer.merge(management, Layer.mock(Recovery, recovery)))

const subscription: Subscription = {
  id: 7,
  accountId: 1,
  resourceId: 3,
  topic: "https://blog.example/feed",
  channel: "webhook",
  endpoint: "https://app.example/hook",
  host: "app.example",
  secret: "a secret",
  face: "api",
  state: "active",
  createdAt: 0
}

describe("RecoveryRoutes", () => {
  it.effect("lists undelivered notifications page by page", () =>
    Effect.gen(function*() {
      const seen: Array<UndeliveredPosition | undefined> = []
      const common = { subscriptionId: 7, topic: subscription.topic, endpoint: subscription.endpoint, attempts: 4 }
      const api = yield* makeRecoveryApi({
        undelivered: ({ after, caller: _, ...request }) =>
          Effect.sync(() => {
            seen.push(after)
            assert.deepStrictEqual(request, { limit: 2, subscription: 7 })
            return after === undefined
              ? {
                items: [
                  {
                    ...common,
                    sequence: 41,
                    notificationId: 1203,
                    isPart: false,
                    state: "dropped",
                    failed: { code: 503, message: "Busy." },
                    recordedAt: 1_000
                  },
                  { ...common, sequence: 42, notificationId: 1204, isPart: true, state: "waiting", nextTry: 61_000 }
                ],
                next: { subscriptionId: 7, sequence: 42 }
              }
              : { items: [] }
          })
      })
      const first = yield* api("GET", "/api/undelivered", { limit: 2, subscription: 7 })
      assertDescribed("/api/undelivered", first)
      const item = { subscription: 7, topic: subscription.topic, callback: subscription.endpoint, attempts: 4 }
      assert.deepStrictEqual(first.json.undelivered, [
        {
          ...item,
          sequence: 41,
          id: "1203-7",
          state: "dropped",
          recorded: "1970-01-01T00:00:01.000Z",
          code: 503,
          reason: "Busy.",
          recoverable: true
        },
        {
          ...item,
          sequence: 42,
          id: "1204-7-42",
          state: "waiting",
          nextTry: "1970-01-01T00:01:01.000Z",
          recoverable: false
        }
      ])
      const second = yield* api("GET", "/api/undelivered", { limit: 2, subscription: 7, cursor: first.json.next })
      assert.deepStrictEqual(second.json, { undelivered: [] })
      assert.deepStrictEqual(seen, [undefined, { subscriptionId: 7, sequence: 42 }])
    }))

  it.effect("recovers since a sequence or a time", () =>
    Effect.gen(function*() {
      const since: Array<unknown> = []
      const api = yield* makeRecoveryApi({
        recover: (request) =>
          Effect.sync(() => {
            since.push(request.since)
            return { subscription, partition: 1, recovered: 3, lost: 1, isFinished: false }
          })
      })
      const answer = yield* api("POST", "/api/recover", { subscription: 7, since: 41 })
      assertDescribed("/api/recover", answer)
      assert.deepStrictEqual(answer.json, { subscription: 7, state: "active", recovered: 3, lost: 1, more: true })
      yield* api("POST", "/api/recover", { subscription: 7, since: "1970-01-01T01:00:00+01:00" })
      yield* api("POST", "/api/recover", { subscription: 7 })
      assert.deepStrictEqual(since, [{ sequence: 41 }, { recordedAt: 0 }, undefined])
      for (const since of ["1970-13-01T00:00:00Z", "2026-02-30T00:00:00Z"]) {
        assert.strictEqual(
          (yield* api("POST", "/api/recover", { since })).json.error.message,
          `since has to be a sequence from 1 on, or a time such as 2026-01-31T09:30:00Z; received "${since}".`
        )
      }
      assert.strictEqual((yield* api("POST", "/api/recover", { subscription: 7 }, "list")).status, 403)
    }))

  it.effect("sends notifications again, and names the missing ones", () =>
    Effect.gen(function*() {
      const api = yield* makeRecoveryApi({
        resend: ({ ids, sequences }) => Effect.succeed({ subscription, sequences: sequences ?? [], missing: ids ?? [] })
      })
      const answer = yield* api("POST", "/api/resend", { sequences: [1, 2], ids: ["1203-7"] })
      assertDescribed("/api/resend", answer)
      const { note, ...resent } = answer.json
      assert.deepStrictEqual(resent, { subscription: 7, resent: [1, 2], missing: ["1203-7"] })
      assert.match(note, /delivered replay is not stored: hub\.mode=replay/)
      assert.notProperty((yield* api("POST", "/api/resend", { sequences: [1] })).json, "note")
      assert.strictEqual((yield* api("POST", "/api/resend", { sequences: [1] }, "list")).status, 403)
    }))

  it.effect("names the next page of a page that retention has emptied", () =>
    Effect.gen(function*() {
      const positions: Array<number> = []
      const api = yield* makeRecoveryApi({
        readNotifications: ({ after }) =>
          Effect.sync(() => {
            positions.push(after)
            return { subscription, notifications: [], lastSequence: 9, ...(after < 8 && { next: 8 }) }
          })
      })
      const { json } = yield* api("GET", "/api/notifications", { subscription: 7 })
      assert.deepStrictEqual(json.notifications, [])
      const last = yield* api("GET", "/api/notifications", { subscription: 7, cursor: json.next })
      assert.notProperty(last.json, "next")
      assert.deepStrictEqual(positions, [0, 8])
    }))

  it.effect("shows the bodies of notifications with their bytes, and never the secret", () =>
    Effect.gen(function*() {
      const requests: Array<Partial<ReadNotificationsRequest>> = []
      const bodies = [Buffer.from(`\ufeff{"é":1}`), Buffer.from([0xff, 0xfe, 0x00])]
      const api = yield* makeRecoveryApi({
        readNotifications: ({ caller: _, ...request }) =>
          Effect.sync(() => {
            requests.push(request)
            return {
              subscription,
              notifications: bodies.map((body, i) => ({
                sequence: i + 3,
                id: `${i}-7`,
                createdAt: 0,
                contentType: "text/plain",
                body
              })),
              ...(requests.length === 1 && { next: 4 }),
              lastSequence: 9
            }
          })
      })
      const answer = yield* api("GET", "/api/notifications", { subscription: 7, after: 2, limit: 2 })
      assertDescribed("/api/notifications", answer)
      const [text, bytes] = answer.json.notifications
      assert.strictEqual(Buffer.from(text.body).compare(bodies[0] ?? Buffer.alloc(0)), 0)
      assert.deepStrictEqual([text.base64, bytes.body, bytes.base64], [undefined, undefined, "//4A"])
      assert.deepStrictEqual([answer.json.subscription, answer.json.last], [7, 9])
      assert.notInclude(answer.body, "a secret")
      const next = yield* api("GET", "/api/notifications", { subscription: 7, cursor: answer.json.next })
      assert.notProperty(next.json, "next")
      assert.deepStrictEqual(requests, [
        { subscription: 7, after: 2, limit: 2 },
        { subscription: 7, after: 4, limit: 20 }
      ])
      assert.strictEqual((yield* api("GET", "/api/notifications", { subscription: 7 }, "list")).status, 403)
    }))
})
