import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { CurrentLiveFeed } from "#actors/runtime/LiveFeed.ts"
import type { LiveEvent } from "#domain/LiveEvent.ts"
import { TestClock } from "effect/testing"
import { basic } from "#test/support/Api.ts"
import { serveDashboard } from "#test/support/Dashboard.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

const delivery = (accountId: number, sequence: number, more: Partial<LiveEvent> = {}): LiveEvent => ({
  _tag: "Delivery",
  at: 1_000,
  accountId,
  subscriptionId: 7,
  topic: "https://a.example/feed",
  endpoint: "https://user:pass@b.example/hook",
  sequence,
  attempt: 1,
  isDelivered: true,
  code: 204,
  message: "",
  ...more
} as LiveEvent)

/** Opens the stream, and reads its chunks one by one. */
const open = (port: number, query = "", secret?: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const aborter = new AbortController()
      const response = await fetch(`http://127.0.0.1:${port}/api/live${query}`, {
        headers: basic(secret),
        signal: aborter.signal
      })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      return { aborter, response, read: async () => (await reader.read()).value ?? "" }
    }),
    ({ aborter }) => Effect.sync(() => aborter.abort())
  )

/** Waits for the text of an update: JSON behind `data: `. */
const readUpdate = (read: () => Promise<string>) =>
  Effect.promise(async () => {
    let text = ""
    while (!text.includes("\n\n") || !text.includes("data: ")) text += await read()
    return { text, json: JSON.parse(/^data: ([^\n]*)$/m.exec(text)?.[1] ?? "") }
  })

describe("live events", () => {
  it.live("reach the open pages of their account, bounded, and cost nothing without a page", () =>
    Effect.gen(function*() {
      const feed = yield* CurrentLiveFeed
      const { port } = yield* serveRoutes({})
      assert.isFalse(feed.isWatched)
      yield* Effect.scoped(Effect.gen(function*() {
        const { read, response } = yield* open(port)
        assert.strictEqual(response.headers.get("content-type"), "text/event-stream")
        assert.strictEqual(response.headers.get("access-control-allow-origin"), null)
        assert.isTrue(feed.isWatched)
        feed.publish(delivery(2, 1)) // of another account
        feed.publish({
          _tag: "Fetch",
          at: 1,
          resourceId: 1,
          url: "https://secret.example/",
          code: 200,
          news: 1,
          failures: 0
        })
        for (let sequence = 1; sequence <= 25; sequence++) feed.publish(delivery(1, sequence))
        const { json, text } = yield* readUpdate(read)
        assert.match(text, /^event: live$/m)
        assert.deepStrictEqual(
          json.events.map(({ sequence }: { sequence: number }) => sequence),
          Array.from({ length: 20 }, (_, i) => i + 6)
        )
        assert.strictEqual(json.omitted, 5)
        assert.notInclude(text, "secret.example")
        assert.deepStrictEqual(json.events[0], {
          kind: "delivered",
          at: 1_000,
          subscription: 7,
          topic: "https://a.example/feed",
          callback: "https://user:pass@b.example/hook",
          sequence: 6,
          attempt: 1,
          code: 204,
          message: ""
        })
      }))
      yield* Effect.repeat(Effect.sleep("20 millis"), { until: () => !feed.isWatched, times: 100 })
      assert.isFalse(feed.isWatched)
    }).pipe(Effect.scoped))

  it.live("keep hostile texts inside their frame", () =>
    Effect.gen(function*() {
      const feed = yield* CurrentLiveFeed
      const { port } = yield* serveRoutes({})
      const { read } = yield* open(port)
      const hostile = "a\n\nevent: forged\ndata: x\r\u2028<script>\ud800"
      feed.publish(delivery(1, 1, { isDelivered: false, message: hostile } as Partial<LiveEvent>))
      const { json, text } = yield* readUpdate(read)
      assert.deepStrictEqual(text.split("\n").filter((line) => line.startsWith("event: ")), ["event: live"])
      assert.strictEqual(json.events[0].message, hostile.toWellFormed())
    }).pipe(Effect.scoped))

  it.live("need the right to retrieve, and those of all accounts the right of an operator", () =>
    Effect.gen(function*() {
      const { port } = yield* serveRoutes({})
      const statusOf = (query: string, secret: string) =>
        Effect.map(open(port, query, secret), ({ response }) => response.status)
      assert.strictEqual(yield* statusOf("", "list"), 403)
      assert.strictEqual(yield* statusOf("?all=true", "wonder"), 403)
      assert.strictEqual(yield* statusOf("", "wrong"), 401)
    }).pipe(Effect.scoped))

  /** Opens the live events of a session, and returns a wait for their end. */
  const openAs = (url: string, cookie: string) =>
    Effect.map(
      Effect.promise(() => fetch(`${url}/api/live`, { headers: { cookie } })),
      ({ body, status }) => {
        assert.strictEqual(status, 200)
        return Effect.promise(() => new Response(body).text())
      }
    )

  it.effect("end with their session: after its sign-out, and when another session ends it", () =>
    Effect.gen(function*() {
      const { get, send, signIn, url } = yield* serveDashboard()
      const [other, own, last] = [yield* signIn(), yield* signIn(), yield* signIn()]
      const ends = [yield* openAs(url, other), yield* openAs(url, own)]
      const lastEnd = yield* Effect.forkChild(yield* openAs(url, last))
      const { text } = yield* get("/dashboard/account", own)
      const ids = [...text.matchAll(/name="id" value="(\d+)"/g)].map(([, id]) => Number(id))
      assert.strictEqual(ids.length, 2)
      yield* send(own, "/dashboard/account/end-session", { id: String(Math.min(...ids)) })
      yield* send(own, "/dashboard/sign-out")
      yield* TestClock.adjust("15 seconds")
      for (const end of ends) assert.match(yield* end, /^(?::\n\n)+$/)
      assert.isUndefined(lastEnd.pollUnsafe())
      yield* send(last, "/dashboard/sign-out")
      yield* TestClock.adjust("15 seconds")
      yield* Fiber.join(lastEnd)
    }))
})
