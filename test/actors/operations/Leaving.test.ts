import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Settings from "#layers/Settings.ts"
import { feed, hook, lines, subscribe, unsubscribe, watched } from "#test/support/HubCalls.ts"
import { layerOutside, layerRunner } from "#test/support/SimulatedWeb.ts"

/** Suspends a call after its row is written, and before the caller gets the answer. */
class Written extends Context.Service<Written, {
  readonly held: Deferred.Deferred<void>
  readonly goOn: Deferred.Deferred<void>
  active: boolean
}>()("windhover/test/Leaving/Written") {}

const layerWritten = Layer.effect(
  Written,
  Effect.gen(function*() {
    return { held: yield* Deferred.make<void>(), goOn: yield* Deferred.make<void>(), active: false }
  })
)

const layerHeld = Layer.effect(
  SubscriptionStore,
  Effect.gen(function*() {
    const store = yield* SubscriptionStore
    const written = yield* Written
    const hold = Effect.suspend(() =>
      written.active
        ? Effect.andThen(Deferred.succeed(written.held, undefined), Deferred.await(written.goOn))
        : Effect.void
    )
    return SubscriptionStore.of({
      ...store,
      subscribe: (wanted) =>
        Effect.tap(store.subscribe(wanted), ({ subscription }) => subscription.state === "active" ? hold : Effect.void),
      remove: (id) => Effect.tap(store.remove(id), () => hold)
    })
  })
)

const layer = layerRunner.pipe(
  Layer.provideMerge(layerHeld),
  Layer.provideMerge(layerOutside),
  Layer.provideMerge(layerWritten),
  Layer.provideMerge(Settings.layerValues())
)

/** Asks, and is gone when the row is written. */
const leaving = Effect.fnUntraced(function*<A, E>(asking: Effect.Effect<A, E, Hub>) {
  const written = yield* Written
  written.active = true
  const fiber = yield* Effect.forkChild(asking)
  yield* TestClock.adjust("1 second")
  yield* Deferred.await(written.held)
  const gone = yield* Effect.forkChild(Fiber.interrupt(fiber))
  yield* TestClock.adjust("1 milli")
  yield* Deferred.succeed(written.goOn, undefined)
  yield* TestClock.adjust("1 second")
  yield* Fiber.join(gone)
  written.active = false
})

describe("a call that ends after its row is written and before the owner is notified", () => {
  it.effect("completes an unsubscribe: deliveries and polls stop", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), () => Effect.succeed(503))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("61 seconds")
      web.log.length = 0
      yield* leaving(unsubscribe("good"))
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(web.log, [])
    }).pipe(Effect.provide(layer)))

  it.effect("completes a subscribe: the resource is polled", () =>
    Effect.gen(function*() {
      const web = yield* watched()
      yield* leaving(subscribe("good"))
      yield* TestClock.adjust("1 minute")
      assert.isAtLeast(lines(web, "poll").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("completes a verified subscribe at the open hub: the resource is polled", () =>
    Effect.gen(function*() {
      const web = yield* watched()
      const hub = yield* Hub
      const request = { caller: anonymous, topic: feed, callback: hook("good"), retrieve: false } as const
      yield* leaving(hub.subscribe({ ...request, face: "hub", verify: "sync" }))
      web.log.length = 0
      yield* TestClock.adjust("5 minutes")
      assert.isAtLeast(lines(web, "poll").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("completes an unsubscribe at the open hub: polls stop", () =>
    Effect.gen(function*() {
      const web = yield* watched()
      const hub = yield* Hub
      const request = { caller: anonymous, topic: feed, callback: hook("good"), face: "hub", verify: "sync" } as const
      yield* hub.subscribe({ ...request, retrieve: false })
      yield* TestClock.adjust("1 minute")
      yield* leaving(hub.unsubscribe(request))
      web.log.length = 0
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(web.log, [])
    }).pipe(Effect.provide(layer)))
})
