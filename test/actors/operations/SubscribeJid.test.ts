import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { FetchError } from "#domain/ports/Fetcher.ts"
import { feed, started } from "#test/support/HubCalls.ts"
import { caller, documentOf, layer } from "#test/support/SimulatedWeb.ts"

const slow = "http://slow.example/a"
const jid = { bare: "ann@example", domain: "example" }

const subscribe = Effect.fnUntraced(function*(topics: ReadonlyArray<string>, awaitFirstStatus: boolean) {
  const hub = yield* Hub
  const resources = topics.map((topic) => ({ topic }))
  const statuses = yield* hub.subscribeJid({ caller, jid, resources, awaitFirstStatus })
  return statuses.map(({ code, feed }) => [feed, code])
})

describe("SubscribeJid", () => {
  it.effect("returns the statuses of the first fetches where the caller waits for them", () =>
    Effect.gen(function*() {
      const web = yield* started
      const missing = "http://feeds.example/missing"
      web.publish(feed, ["a"])
      web.serve(missing, () => Effect.succeed(documentOf([], 404)))
      const answer = yield* Effect.forkChild(subscribe([feed, missing], true))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(answer.pollUnsafe(), yield* Effect.exit(Effect.succeed([[feed, 200], [missing, 404]])))
      const other = "http://other.example/a"
      assert.deepStrictEqual(yield* subscribe([other, feed], false), [[other, undefined], [feed, 200]])
    }).pipe(Effect.provide(layer)))

  it.effect("answers after 4 s without the status of a fetch that takes longer", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["a"])
      web.serve(slow, () => Effect.never)
      const answer = yield* Effect.forkChild(subscribe([slow, feed], true))
      yield* TestClock.adjust("3999 millis")
      assert.isUndefined(answer.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Fiber.join(answer), [[slow, undefined], [feed, 200]])
    }).pipe(Effect.provide(layer)))

  it.effect("subscribes to a resource that cannot be fetched", () =>
    Effect.gen(function*() {
      const web = yield* started
      const error = new FetchError({ reason: { _tag: "Timeout", message: "The server did not answer." } })
      web.serve(slow, () => Effect.fail(error))
      const answer = yield* Effect.forkChild(subscribe([slow], true))
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(yield* Fiber.join(answer), [[slow, 0]])
    }).pipe(Effect.provide(layer)))

  it.effect("lets an account wait for 20 resources at once, and answers further requests without delay", () =>
    Effect.gen(function*() {
      const web = yield* started
      const topics = Array.from({ length: 21 }, (_, i) => `http://slow${i}.example/a`)
      for (const topic of topics) web.serve(topic, () => Effect.never)
      const waiting = yield* Effect.forkChild(subscribe(topics.slice(0, 20), true))
      yield* TestClock.adjust("1 second")
      assert.isUndefined(waiting.pollUnsafe())
      assert.deepStrictEqual(yield* subscribe(topics.slice(20), true), [[topics[20], undefined]])
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(waiting)).length, 20)
      const again = yield* Effect.forkChild(subscribe(topics.slice(0, 1), true)) // the places are free again
      yield* TestClock.adjust("1 second")
      assert.isUndefined(again.pollUnsafe())
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* Fiber.join(again), [[topics[0], undefined]])
    }).pipe(Effect.provide(layer)))
})
