import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import type { FetchRequest } from "#domain/ports/Fetcher.ts"
import * as ManualTimers from "#test/support/ManualTimers.ts"
import { fetch, live } from "#test/support/Fetching.ts"
import { serve } from "#test/support/Servers.ts"

const text = (body: Uint8Array): string => Buffer.from(body).toString()

/** Fetches concurrently and returns status and body of each response. */
const together = (requests: ReadonlyArray<FetchRequest>) =>
  Effect.map(
    Effect.forEach(requests, (request) => fetch(request), { concurrency: "unbounded" }),
    (all) => all.map(({ body, status }) => `${status} ${text(body)}`)
  )

/** A server that counts its responses, and responds after some milliseconds. */
const counting = (wait = 20) =>
  Effect.gen(function*() {
    let answers = 0
    const origin = yield* serve(({ headers, path }, response) => {
      if (path === "/old") return response.writeHead(301, { Location: "/new" }).end()
      setTimeout(() => response.end(`${path} ${++answers} ${headers.authorization ?? ""}`), wait)
    })
    return { origin, answers: () => answers }
  })

const shared = { since: 0, shared: true } as const

describe("coalesced fetches", () => {
  live("fetch a page once for all its fragments, during the fetch and just after it", () =>
    Effect.gen(function*() {
      const { answers, origin } = yield* counting()
      const url = `${origin.url}/page`
      assert.deepStrictEqual(yield* together(Array.from({ length: 5 }, () => ({ url, ...shared }))), [
        "200 /page 1 ",
        "200 /page 1 ",
        "200 /page 1 ",
        "200 /page 1 ",
        "200 /page 1 "
      ])
      assert.deepStrictEqual(yield* together([{ url, ...shared }]), ["200 /page 1 "])
      assert.strictEqual(answers(), 1)
    }))

  live(
    "remember a redirect target if it can be a topic, not if it is longer than any topic",
    () =>
      Effect.gen(function*() {
        let answers = 0
        const origin = yield* serve(({ path }, response) => {
          if (path.startsWith("/to")) return response.writeHead(302, { Location: path.slice(3) }).end()
          setTimeout(() => response.end(String(++answers)), 20)
        })
        for (const [length, requests] of [[10, 1], [3_000, 2]] as const) {
          const path = `/${"x".repeat(length)}`
          yield* fetch({ url: `${origin.url}/to${path}` })
          answers = 0
          yield* together([0, 1].map(() => ({ url: `${origin.url}${path}`, since: Date.now() })))
          assert.strictEqual(answers, requests)
        }
      })
  )

  live(
    "fetch again for a newer response, for other validators, and for an unshared request",
    () =>
      Effect.gen(function*() {
        const { answers, origin } = yield* counting()
        const url = `${origin.url}/page`
        yield* together([{ url, ...shared }, { url, ...shared, etag: "\"1\"" }, { url }, {
          url,
          ...shared,
          maxBytes: 1_000
        }])
        assert.strictEqual(answers(), 4)
        yield* Effect.sleep(5)
        yield* together([{ url, ...shared, since: Date.now() }])
        assert.strictEqual(answers(), 5)
      })
  )

  live("fetch once if a redirect leads to the topic of another subscriber", () =>
    Effect.gen(function*() {
      const { answers, origin } = yield* counting(200)
      const old = { url: `${origin.url}/old`, since: 0 }
      const direct = { url: `${origin.url}/new`, since: 0 }
      yield* fetch(old) // from now on the redirect target is known
      assert.deepStrictEqual(yield* together([old, direct]), ["200 /new 1 ", "200 /new 1 "])
      assert.strictEqual(answers(), 1)
      yield* together([{ ...old, since: Date.now() + 1 }, { ...direct, since: Date.now() + 1 }])
      assert.isAtMost(answers(), 3)
    }))

  live("never share a response between different credentials", () =>
    Effect.gen(function*() {
      const { answers, origin } = yield* counting()
      const url = (user: string) => `http://${user}127.0.0.1:${origin.port}/page`
      const [own, other, none] = yield* together(["a:b@", "c:d@", ""].map((user) => ({ url: url(user), ...shared })))
      assert.strictEqual(answers(), 3)
      assert.match(own ?? "", /Basic YTpi/)
      assert.match(other ?? "", /Basic Yzpk/)
      assert.notMatch(none ?? "", /Basic/)
    }))

  live("continue when the first caller leaves, and end when all callers have left", () =>
    Effect.gen(function*() {
      const { origin } = yield* counting(100)
      const url = `${origin.url}/page`
      const first = yield* Effect.forkChild(fetch({ url, ...shared }), { startImmediately: true })
      const second = yield* Effect.forkChild(fetch({ url, ...shared }), { startImmediately: true })
      yield* Fiber.interrupt(first)
      assert.strictEqual(text((yield* Fiber.join(second)).body), "/page 1 ")
      const third = yield* Effect.forkChild(fetch({ url, ...shared, since: Date.now() }), { startImmediately: true })
      yield* Fiber.interrupt(third)
      assert.strictEqual(text((yield* fetch({ url, ...shared, since: Date.now() })).body).startsWith("/page"), true)
    }))

  live("fail for all callers together; a new call fetches again", () =>
    Effect.gen(function*() {
      let requests = 0
      const origin = yield* serve((_, response) => {
        requests++
        setTimeout(() => response.socket?.resetAndDestroy(), 20)
      })
      const failures = yield* Effect.forEach(
        [1, 2, 3],
        () => Effect.map(Effect.flip(fetch({ url: origin.url, ...shared })), ({ reason }) => reason._tag),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual([failures, requests], [["Protocol", "Protocol", "Protocol"], 2])
    }))

  const timers = ManualTimers.make()

  live("close the connection to a redirect target at the deadline", () =>
    Effect.gen(function*() {
      const slow = yield* Queue.unbounded<void>()
      const origin = yield* serve(({ path }, response) => {
        if (path === "/page") response.writeHead(302, { Location: "/slow" }).end()
        else Queue.offerUnsafe(slow, undefined)
      })
      const request = { url: `${origin.url}/page`, ...shared, deadline: 300 }
      const timeOut = Effect.gen(function*() {
        const failing = yield* Effect.forkChild(Effect.flip(fetch(request)))
        yield* Queue.take(slow)
        yield* timers.expire(300)
        return yield* Fiber.join(failing)
      })
      const answers = [yield* timeOut, yield* timeOut]
      assert.deepStrictEqual(answers.map(({ reason }) => reason._tag), ["Timeout", "Timeout"])
      yield* origin.quiet // no connection stays open
      assert.deepStrictEqual(origin.seen.map(({ path }) => path), ["/page", "/slow", "/slow"])
    }), { timers })
})
