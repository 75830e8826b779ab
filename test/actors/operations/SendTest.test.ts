import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { Recovery, type TestRequest } from "#actors/operations/Recovery.ts"
import { DeliveryError, type Parcel } from "#domain/ports/Deliverer.ts"
import { feed, hook, subscribe, watched } from "#test/support/HubCalls.ts"
import { caller, hangs, layer } from "#test/support/SimulatedWeb.ts"

const send = Effect.fnUntraced(function*(request: Partial<TestRequest>) {
  const fiber = yield* Effect.forkChild(
    Recovery.use((recovery) => recovery.sendTest({ caller, ...request }))
  )
  yield* TestClock.adjust("40 seconds")
  return yield* Fiber.join(fiber)
})

const header = ({ headers }: Parcel, name: string) => headers.find(([key]) => key === name)?.[1]

const textOf = ({ body }: Parcel) => Buffer.from(body).toString()

describe("Recovery.sendTest", () => {
  it.effect("sends the newest content of a subscription, marked, without a sequence or a credit", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      yield* subscribe("good", { format: "json", secret: "a secret" })
      web.publish(feed, ["second", "first"])
      yield* TestClock.adjust("61 seconds")
      const { subscription: { id: subscription } } = yield* Recovery.use((recovery) =>
        recovery.recover({ caller, topic: feed, callback: hook("good") })
      )
      web.parcels.length = 0
      const outcome = yield* send({ subscription })
      const [parcel] = web.parcels
      if (parcel === undefined) return assert.fail("no request")
      assert.match(outcome.id, /^test-[0-9a-z]+$/)
      assert.deepStrictEqual(
        ["X-Windhover-Test", "X-Windhover-Notification-Id", "X-Windhover-Sequence", "X-PubSubHubbub-Topic"].map((
          name
        ) => header(parcel, name)),
        ["true", outcome.id, "0", feed]
      )
      assert.deepStrictEqual([parcel.id, parcel.secret, parcel.callback], [outcome.id, "a secret", hook("good")])
      assert.deepStrictEqual(JSON.parse(textOf(parcel)).items.map(({ id }: { readonly id: string }) => id), ["second"])
      assert.deepStrictEqual([outcome.callback, outcome.topic, outcome.attempt.code], [hook("good"), feed, 200])
      assert.isUndefined(outcome.attempt.reason)
      web.publish(feed, ["third", "second"])
      yield* TestClock.adjust("61 seconds")
      assert.deepStrictEqual(web.parcels.slice(1).map((one) => header(one, "X-Windhover-Sequence")), ["2"])
      assert.deepStrictEqual(web.parcels.slice(1).map((one) => header(one, "X-Service-Credits")), ["-2"])
    }).pipe(Effect.provide(layer)))

  it.effect("sends a sample to any callback, with its secret and format", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const outcome = yield* send({ callback: "http://new.example/hook", secret: "s", format: "json" })
      const [parcel] = web.parcels
      if (parcel === undefined) return assert.fail("no request")
      assert.deepStrictEqual([parcel.callback, parcel.secret, outcome.topic], [
        "http://new.example/hook",
        "s",
        "http://localhost:8080/test"
      ])
      assert.deepStrictEqual(JSON.parse(textOf(parcel)).items.map(({ title }: { readonly title: string }) => title), [
        "Test notification"
      ])
      yield* send({ callback: "http://new.example/hook", topic: feed })
      assert.include(textOf(web.parcels[1] ?? parcel), "<id>first</id>")
    }).pipe(Effect.provide(layer)))

  it.effect("shows why a callback did not accept the test", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), () => Effect.succeed(503))
      assert.deepInclude((yield* send({ callback: hook("good") })).attempt, { code: 503, reason: "server-error" })
      web.answer(hook("good"), hangs)
      assert.deepInclude((yield* send({ callback: hook("good") })).attempt, { code: 0, reason: "timeout" })
      const refused = new DeliveryError({ reason: { _tag: "RefusedAddress", message: "10.0.0.1 is private." } })
      web.answer(hook("good"), () => Effect.fail(refused))
      assert.deepInclude((yield* send({ callback: hook("good") })).attempt, {
        code: 0,
        reason: "refused-address",
        message: "10.0.0.1 is private."
      })
      web.answer(hook("good"), () => Effect.never)
      const busy = yield* Effect.flip(send({ callback: hook("good") }))
      assert.strictEqual(busy.reason._tag, "Unavailable")
    }).pipe(Effect.provide(layer)))

  it.effect("refuses private, own and malformed callbacks, foreign topics and subscriptions, and sends nothing", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const hub = yield* Hub
      yield* hub.subscribe({
        caller,
        topic: feed,
        callback: "http://localhost:8080/dev/null",
        face: "api",
        retrieve: false,
        discover: false
      })
      const { subscription: nullDevice } = yield* Recovery.use((recovery) =>
        recovery.recover({ caller, topic: feed, callback: "http://localhost:8080/dev/null" })
      )
      const other = { ...caller, account: { ...caller.account, id: 2 } }
      const cases: ReadonlyArray<readonly [Partial<TestRequest>, string]> = [
        [{}, "Please provide callback, the URL that gets the test, or subscription, the id of one."],
        [
          { callback: "http://db.internal/" },
          `callback can never be reached: received "http://db.internal/". It is internal.`
        ],
        [
          { callback: "http://localhost:8080/api/test" },
          `callback is an address of Windhover itself: received "http://localhost:8080/api/test".`
        ],
        [
          { callback: "http://a.example/\r\nX-Evil: 1" },
          `callback holds a control character: received "http://a.example/\\r\\nX-Evil: 1"; percent-encode it.`
        ],
        [
          { callback: "ftp://a.example/" },
          `callback has the scheme "ftp:"; notifications go to http and https URLs only.`
        ],
        [
          { callback: hook("good"), topic: "http://feeds.example/other" },
          `You are not subscribed to "http://feeds.example/other"; leave topic out for a test with a sample.`
        ],
        [
          { caller: other, callback: hook("good"), topic: feed },
          `You are not subscribed to "${feed}"; leave topic out for a test with a sample.`
        ],
        [
          { caller: other, subscription: nullDevice.id },
          `Your account has no subscription ${nullDevice.id}; hub.mode=list with detailed=true shows the ids.`
        ],
        [
          { subscription: nullDevice.id },
          `The subscription ${nullDevice.id} has no callback; only a webhook can be tested.`
        ],
        [{ subscription: 1, secret: "x" }, "secret cannot be sent with subscription, which has its own."]
      ]
      for (const [request, message] of cases) assert.strictEqual((yield* Effect.flip(send(request))).message, message)
      assert.deepStrictEqual(web.parcels, [])
    }).pipe(Effect.provide(layer)))

  it.effect("sends ten tests of an account at once, and then ten a minute", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const recovery = yield* Recovery
      for (let i = 0; i < 10; i++) yield* recovery.sendTest({ caller, callback: `http://host${i}.example/` })
      const { reason } = yield* Effect.flip(recovery.sendTest({ caller, callback: hook("good") }))
      assert.deepStrictEqual([reason._tag, "retryAfter" in reason && reason.retryAfter], ["Throttled", 6])
      yield* TestClock.adjust("6 seconds")
      yield* recovery.sendTest({ caller, callback: hook("good") })
      assert.strictEqual(web.parcels.length, 11)
    }).pipe(Effect.provide(layer)))
})
