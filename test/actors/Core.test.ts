import { assert, describe, it } from "@effect/vitest"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Effect, Redacted } from "effect"
import { caller, layer, World } from "#test/support/World.ts"

const feed = "http://feeds.example/a"

const subscribe = Effect.fnUntraced(function*(callback: string, topic = feed) {
  const hub = yield* Hub
  return yield* hub.subscribe({ caller, topic, callback, face: "api", retrieve: false })
})

const started = Effect.gen(function*() {
  const accounts = yield* AccountStore
  yield* accounts.create("ann", Redacted.make("a password"))
  yield* TestClock.adjust("1 second")
})

describe("the core", () => {
  it.effect("polls at its seconds, notifies of new ids only, retries after 5, 10 and 15 s, and then drops", () =>
    Effect.gen(function*() {
      yield* started
      const world = yield* World
      world.publish(feed, ["a"])
      world.answer("http://hooks.example/bad", () => Effect.succeed(500))
      yield* subscribe("http://hooks.example/good")
      yield* subscribe("http://hooks.example/bad")
      yield* TestClock.adjust("30 seconds")
      world.publish(feed, ["b", "a"])
      yield* TestClock.adjust("200 seconds")
      assert.deepStrictEqual(world.log, [
        "1s poll feeds.example/a",
        "61s poll feeds.example/a",
        "61s post hooks.example/good b try 0",
        "61s post hooks.example/bad b try 0",
        "66s post hooks.example/bad b try 1",
        "76s post hooks.example/bad b try 2",
        "91s post hooks.example/bad b try 3",
        "121s poll feeds.example/a",
        "211s poll feeds.example/a"
      ])
    }).pipe(Effect.provide(layer)))
})
