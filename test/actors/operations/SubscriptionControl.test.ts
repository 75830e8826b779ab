import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { Recovery } from "#actors/operations/Recovery.ts"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import { feed, hook, lines, subscribe, watched } from "#test/support/HubCalls.ts"
import { caller, layerWith } from "#test/support/SimulatedWeb.ts"

const layer = layerWith({ retry: "days" })

const name = { topic: feed, callback: hook("good") }

const entriesOf = (log: ReadonlyArray<string>) => log.map((line) => line.split(" ")[3])

describe("SubscriptionControl", () => {
  it.effect("sends nothing during a pause; a resume and a recovery deliver all notifications in order", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const control = yield* SubscriptionControl
      assert.strictEqual((yield* control.pause({ caller, ...name })).state, "paused")
      assert.strictEqual((yield* control.pause({ caller, ...name })).state, "paused")
      for (const ids of [["a", "first"], ["b", "a", "first"]]) {
        web.publish(feed, ids)
        yield* TestClock.adjust("60 seconds")
      }
      assert.deepStrictEqual(lines(web, "post"), [])
      assert.strictEqual((yield* control.resume({ caller, ...name })).state, "active")
      assert.strictEqual((yield* (yield* Recovery).recover({ caller, ...name })).recovered, 2)
      web.publish(feed, ["c", "b", "a", "first"])
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(entriesOf(lines(web, "post")), ["a", "b", "c"])
    }).pipe(Effect.provide(layer)))

  it.effect("tries the waiting notifications of a resumed subscription at once", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), () => Effect.succeed(500))
      web.publish(feed, ["a", "first"])
      yield* TestClock.adjust("2 hours")
      const tried = lines(web, "post").length
      web.answer(hook("good"), () => Effect.succeed(200))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(lines(web, "post").length, tried) // the next attempt is hours away
      yield* (yield* SubscriptionControl).resume({ caller, ...name })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(entriesOf(lines(web, "post").slice(tried)), ["a"])
    }).pipe(Effect.provide(layer)))

  it.effect("refuses the subscription of another account, a pending one, and the pause of the null device", () =>
    Effect.gen(function*() {
      yield* watched("good")
      const control = yield* SubscriptionControl
      const message = <A>(effect: Effect.Effect<A, { readonly message: string }>) =>
        Effect.map(Effect.flip(effect), (error) => error.message)
      const stranger = { ...caller, account: { ...caller.account, id: 99 } }
      assert.include(yield* message(control.resume({ caller: stranger, ...name })), "You are not subscribed to")
      assert.include(yield* message(control.pause({ caller: stranger, subscription: 1 })), "no subscription 1")
      const nullDevice = "http://localhost:8080/dev/null"
      yield* (yield* Hub).subscribe({
        caller,
        topic: feed,
        callback: nullDevice,
        face: "api",
        retrieve: false,
        discover: false
      })
      assert.include(
        yield* message(control.pause({ caller, topic: feed, callback: nullDevice })),
        "is no webhook: the null device gets no requests"
      )
    }).pipe(Effect.provide(layer)))

  it.effect("sets labels of the caller's own subscriptions alone", () =>
    Effect.gen(function*() {
      yield* watched("good")
      const control = yield* SubscriptionControl
      const { id, labels } = yield* control.setLabels({ caller, ...name, labels: ["News", " News ", "Tech"] })
      assert.deepStrictEqual(labels, ["News", "Tech"])
      const stranger = { ...caller, account: { ...caller.account, id: 99 } }
      for (const foreign of [{ subscription: id }, name]) {
        const refusal = yield* Effect.flip(control.setLabels({ caller: stranger, ...foreign, labels: ["theirs"] }))
        assert.strictEqual(refusal.reason._tag, "NotSubscribed")
      }
      const { items } = yield* (yield* Hub).list({ caller, page: 1, byPage: 1 })
      assert.deepStrictEqual(items.map(({ subscription }) => [subscription.id, subscription.labels]), [
        [id, ["News", "Tech"]]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("resumes with a new subscription", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* (yield* SubscriptionControl).pause({ caller, ...name })
      yield* subscribe("good")
      web.publish(feed, ["a", "first"])
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(entriesOf(lines(web, "post")), ["a"])
    }).pipe(Effect.provide(layer)))
})
