import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { feed, hook, subscribe, watched } from "#test/support/HubCalls.ts"
import { layer } from "#test/support/SimulatedWeb.ts"

describe("ActorsLayer", () => {
  it.effect("polls on time, notifies of new ids only, retries after 5, 10 and 15 s, and then drops", () =>
    Effect.gen(function*() {
      const web = yield* watched("good", "bad")
      web.answer(hook("bad"), () => Effect.succeed(500))
      yield* TestClock.adjust("30 seconds")
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("200 seconds")
      assert.deepStrictEqual(web.log, [
        "61s poll feeds.example/a",
        "61s post good.hooks.example/ b try 0",
        "61s post bad.hooks.example/ b try 0",
        "66s post bad.hooks.example/ b try 1",
        "76s post bad.hooks.example/ b try 2",
        "91s post bad.hooks.example/ b try 3",
        "121s poll feeds.example/a",
        "211s poll feeds.example/a"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("keeps resources and subscriptions independent of failures in others", () =>
    Effect.gen(function*() {
      const web = yield* watched("good", "bad")
      web.answer(hook("bad"), () => Effect.succeed(503))
      web.publish("http://other.example/feed", ["1"])
      web.serve("http://broken.example/feed", () => Effect.die("a bug"))
      yield* subscribe("good", { topic: "http://other.example/feed" })
      yield* subscribe("good", { topic: "http://broken.example/feed" })
      yield* TestClock.adjust("2 seconds")
      web.log.length = 0
      web.publish(feed, ["b", "first"])
      web.publish("http://other.example/feed", ["2", "1"])
      yield* TestClock.adjust("65 seconds")
      assert.deepStrictEqual(web.log.filter((line) => !line.includes("broken")), [
        "61s poll feeds.example/a",
        "61s post good.hooks.example/ b try 0",
        "61s post bad.hooks.example/ b try 0",
        "62s poll other.example/feed",
        "62s post good.hooks.example/ 2 try 0",
        "66s post bad.hooks.example/ b try 1"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("is ready when the partitions are awake", () =>
    Effect.gen(function*() {
      const hub = yield* Hub
      assert.isFalse(yield* hub.ready)
      yield* TestClock.adjust("1 second")
      assert.isTrue(yield* hub.ready)
    }).pipe(Effect.provide(layer)))
})
