import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Hub, type SubscribeRequest } from "#actors/operations/Hub.ts"
import { hook, lines, started } from "#test/support/HubCalls.ts"
import { caller, documentOf, layer } from "#test/support/SimulatedWeb.ts"

const subscribe = (topic: string, options: Partial<SubscribeRequest> = {}) =>
  Hub.use((hub) => hub.subscribe({ caller, topic, callback: hook("good"), face: "api", retrieve: false, ...options }))

describe("a subscription to a resource without a first fetch", () => {
  it.effect("does not wait when the URL looks like a feed", () =>
    Effect.gen(function*() {
      const web = yield* started
      for (
        const topic of [
          "http://feeds.example/a",
          "http://a.example/feed",
          "http://a.example/b.xml",
          "http://a.example/c?format=RSS"
        ]
      ) {
        web.serve(topic, () => Effect.never)
        assert.deepStrictEqual(yield* subscribe(topic), { outcome: "done" })
      }
    }).pipe(Effect.provide(layer)))

  it.effect("waits for a page when only the host looks like a feed", () =>
    Effect.gen(function*() {
      const web = yield* started
      const topic = "http://buzzfeed.example/"
      web.serve(topic, () => Effect.never)
      const fiber = yield* Effect.forkChild(subscribe(topic))
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { outcome: "done" })
    }).pipe(Effect.provide(layer)))

  it.effect("waits for the first fetch when it looks like a page, five seconds at most, and is fetched once", () =>
    Effect.gen(function*() {
      const web = yield* started
      const topic = "http://blog.example/"
      web.serve(topic, () => Effect.as(Effect.sleep("20 seconds"), documentOf(["first"])))
      const fiber = yield* Effect.forkChild(subscribe(topic))
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { outcome: "done" })
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(lines(web, "poll").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("does not wait when the page itself, or a part of it, is wanted", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.serve("http://blog.example/", () => Effect.never)
      assert.deepStrictEqual(yield* subscribe("http://blog.example/", { discover: false }), {
        outcome: "done"
      })
      assert.deepStrictEqual(yield* subscribe("http://blog.example/#p"), { outcome: "done" })
    }).pipe(Effect.provide(layer)))

  it.effect("waits once when it also waits for stored entries", () =>
    Effect.gen(function*() {
      const web = yield* started
      const topic = "http://blog.example/"
      web.serve(topic, () => Effect.never)
      const fiber = yield* Effect.forkChild(subscribe(topic, { retrieve: true }))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).representation?.status.code, undefined)
    }).pipe(Effect.provide(layer)))
})
