import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { Recovery } from "#actors/operations/Recovery.ts"
import type { Parcel } from "#domain/ports/Deliverer.ts"
import { feed, hook, lines, subscribe, watched } from "#test/support/HubCalls.ts"
import { caller, layerWith, type SimulatedWeb } from "#test/support/SimulatedWeb.ts"

/** Failed notifications are dropped after 30 s. */
const layer = layerWith({ retry: "short" })

const name = { topic: feed, callback: hook("good") }

const undelivered = Effect.fnUntraced(function*() {
  return (yield* (yield* Recovery).undelivered({ caller, limit: 100 })).items
})

/** Publishes one entry a minute, `count` times. Each becomes a notification. */
const publish = Effect.fnUntraced(function*(web: SimulatedWeb["Service"], prefix: string, count: number) {
  const ids = ["first"]
  for (let i = 1; i <= count; i++) {
    ids.unshift(`${prefix}${i}`)
    web.publish(feed, ids.slice(0, 10))
    yield* TestClock.adjust("60 seconds")
  }
})

const header = ({ headers }: Parcel, name: string) => headers.find(([key]) => key === name)?.[1] ?? ""

/** Sequence, id and entries of each notification. */
const described = (web: SimulatedWeb["Service"]) =>
  web.parcels.map((parcel) =>
    [
      header(parcel, "X-Windhover-Sequence"),
      header(parcel, "X-Windhover-Notification-Id"),
      /<entry.*?<id>(.*?)<\/id>/.exec(new TextDecoder().decode(parcel.body))?.[1]
    ].join(" ")
  )

describe("Recovery", () => {
  it.effect("sends exactly the 200 dropped notifications, in order, with their sequences and ids", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const recovery = yield* Recovery
      web.answer(hook("good"), () => Effect.succeed(500))
      yield* publish(web, "e", 200)
      yield* TestClock.adjust("1 minute")
      const failed = described(web)
      const dropped = failed.filter((one, i) => failed.indexOf(one) === i)
      assert.strictEqual(dropped.length, 200)
      web.answer(hook("good"), () => Effect.succeed(200))
      web.publish(feed, ["last", "e200"])
      yield* TestClock.adjust("1 minute")
      web.parcels.length = 0
      const { isFinished, lost, recovered } = yield* recovery.recover({ caller, ...name })
      assert.deepStrictEqual([recovered, lost, isFinished], [200, 0, true])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(described(web), dropped)
      assert.strictEqual(dropped[0]?.split(" ")[0], "1")
      assert.strictEqual(dropped.at(-1)?.split(" ")[2], "e200")
      assert.deepStrictEqual(yield* undelivered(), [])
      assert.strictEqual((yield* recovery.recover({ caller, ...name })).recovered, 0)
    }).pipe(Effect.provide(layer)))

  it.effect("begins at a sequence or a time, and sends recovered notifications before waiting ones", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const recovery = yield* Recovery
      web.answer(hook("good"), () => Effect.succeed(500))
      yield* publish(web, "e", 6)
      yield* TestClock.adjust("31 seconds")
      const times = (yield* undelivered()).map(({ recordedAt = 0 }) => recordedAt)
      yield* TestClock.adjust("20 seconds")
      web.answer(hook("good"), () => Effect.succeed(200))
      web.parcels.length = 0
      yield* recovery.recover({ caller, ...name, since: { sequence: 6 } })
      yield* TestClock.adjust("1 second")
      yield* recovery.recover({ caller, ...name, since: { recordedAt: times[3] ?? 0 } })
      yield* TestClock.adjust("1 second")
      yield* recovery.recover({ caller, ...name, since: { recordedAt: (times[0] ?? 0) + 1 } })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(described(web).map((line) => line.split(" ")[0]), ["6", "4", "5", "2", "3"])
      assert.deepStrictEqual((yield* undelivered()).map(({ sequence }) => sequence), [1])
    }).pipe(Effect.provide(layer)))

  it.effect("brings the next attempt of a waiting notification forward", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.answer(hook("good"), (_, attempt) => Effect.succeed(attempt === 0 ? 500 : 200))
      yield* publish(web, "e", 1)
      web.publish(feed, ["e2", "e1"])
      yield* TestClock.adjust("60 seconds")
      yield* TestClock.adjust("6 seconds")
      web.log.length = 0
      web.answer(hook("good"), () => Effect.succeed(500))
      web.publish(feed, ["e3", "e2"])
      yield* TestClock.adjust("54 seconds")
      web.answer(hook("good"), () => Effect.succeed(200))
      yield* (yield* Recovery).recover({ caller, ...name })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines(web, "post").map((line) => line.replace(/^.*post \S+ /, "")), [
        "e3 try 0",
        "e3 try 1"
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("refuses the subscription of another account as an unknown one", () =>
    Effect.gen(function*() {
      yield* watched("good")
      const recovery = yield* Recovery
      const other = { ...caller, account: { ...caller.account, id: 2 } }
      const [{ subscription: { id } }] = [yield* recovery.recover({ caller, ...name })]
      const refusals = [
        yield* Effect.flip(recovery.recover({ caller: other, subscription: id })),
        yield* Effect.flip(recovery.undelivered({ caller: other, subscription: id, limit: 1 })),
        yield* Effect.flip(recovery.recover({ caller: other, ...name })),
        yield* Effect.flip(recovery.recover({ caller, subscription: 99 }))
      ]
      assert.deepStrictEqual(refusals.map(({ reason }) => reason._tag), refusals.map(() => "NotSubscribed"))
      assert.strictEqual(
        refusals[0]?.message,
        `Your account has no subscription ${id}; hub.mode=list with detailed=true shows the ids.`
      )
      const unclear = [
        yield* Effect.flip(recovery.recover({ caller })),
        yield* Effect.flip(recovery.recover({ caller, topic: feed })),
        yield* Effect.flip(recovery.recover({ caller, ...name, subscription: id }))
      ]
      assert.deepStrictEqual(unclear.map(({ reason }) => reason._tag), ["BadParameter", "BadParameter", "BadParameter"])
    }).pipe(Effect.provide(layer)))

  it.effect("recovers 20 times at once, and then once in 3 s", () =>
    Effect.gen(function*() {
      yield* watched("good")
      yield* subscribe("other")
      const recovery = yield* Recovery
      for (let i = 0; i < 20; i++) {
        yield* recovery.recover({ caller, topic: feed, callback: hook(i % 2 ? "good" : "other") })
      }
      const { reason } = yield* Effect.flip(recovery.recover({ caller, ...name }))
      assert.deepStrictEqual([reason._tag, "retryAfter" in reason && reason.retryAfter], ["Throttled", 3])
      yield* TestClock.adjust("3 seconds")
      yield* recovery.recover({ caller, ...name })
    }).pipe(Effect.provide(layer)))

  it.effect("reads delivered and undelivered notifications as they were sent, until the last sequence", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const recovery = yield* Recovery
      yield* publish(web, "e", 3)
      const sent = web.parcels.map((parcel) => ({
        sequence: Number(header(parcel, "X-Windhover-Sequence")),
        id: header(parcel, "X-Windhover-Notification-Id"),
        contentType: parcel.contentType,
        body: parcel.body
      }))
      assert.strictEqual(sent.length, 3)
      const read = (after: number, limit: number) =>
        Effect.map(recovery.readNotifications({ caller, ...name, after, limit }), (page) => ({
          ...page,
          notifications: page.notifications.map(({ createdAt: _, ...notification }) => notification)
        }))
      const all = yield* read(0, 100)
      assert.deepStrictEqual([all.notifications, all.next, all.lastSequence], [sent, undefined, 3])
      const page = yield* read(1, 1)
      assert.deepStrictEqual([page.notifications, page.next], [sent.slice(1, 2), 2])
      const other = { ...caller, account: { ...caller.account, id: 2 } }
      const { reason } = yield* Effect.flip(
        recovery.readNotifications({ caller: other, subscription: all.subscription.id, after: 0, limit: 1 })
      )
      assert.strictEqual(reason._tag, "NotSubscribed")
    }).pipe(Effect.provide(layer)))

  it.effect("sends delivered notifications again by sequence and by id, in order", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const recovery = yield* Recovery
      yield* publish(web, "e", 4)
      const sent = described(web)
      const bodies = web.parcels.map(({ body }) => Buffer.from(body).toString())
      const ids = sent.map((line) => line.split(" ")[1] ?? "")
      web.parcels.length = 0
      const resent = yield* recovery.resend({ caller, ...name, sequences: [3, 99], ids: [ids[1] ?? "", ids[0] ?? ""] })
      assert.deepStrictEqual([resent.sequences, resent.missing], [[1, 2, 3], [99]])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(described(web), sent.slice(0, 3))
      assert.deepStrictEqual(web.parcels.map(({ body }) => Buffer.from(body).toString()), bodies.slice(0, 3))
      yield* recovery.resend({ caller, ids: [ids[3] ?? ""] })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(described(web), sent)
      assert.deepStrictEqual(yield* undelivered(), [])
    }).pipe(Effect.provide(layer)))

  it.effect("refuses unclear, foreign and too many notifications", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      const recovery = yield* Recovery
      yield* publish(web, "e", 1)
      const [id = ""] = described(web).map((line) => line.split(" ")[1])
      const { subscription: { id: subscription } } = yield* recovery.recover({ caller, ...name })
      const other = { ...caller, account: { ...caller.account, id: 2 } }
      const many = Array.from({ length: 101 }, (_, i) => i + 1)
      const messages = [
        yield* Effect.flip(recovery.resend({ caller, ...name })),
        yield* Effect.flip(recovery.resend({ caller, ...name, sequences: many })),
        yield* Effect.flip(recovery.resend({ caller, ids: ["1; drop table"] })),
        yield* Effect.flip(recovery.resend({ caller, ids: [id, "1-99"] })),
        yield* Effect.flip(recovery.resend({ caller: other, ids: [id] })),
        yield* Effect.flip(recovery.resend({ caller: other, subscription, sequences: [1] }))
      ].map(({ message }) => message)
      const unknown =
        `Your account has no subscription ${subscription}; hub.mode=list with detailed=true shows the ids.`
      assert.deepStrictEqual(messages, [
        "Please provide 1 to 100 notifications, by sequences or by ids; received 0.",
        "Please provide 1 to 100 notifications, by sequences or by ids; received 101.",
        `ids has "1; drop table", which is no X-Windhover-Notification-Id; such an id reads 1203-7 or 1203-7-41.`,
        `ids has "1-99", which is no notification of subscription ${subscription}.`,
        unknown,
        unknown
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("sends 200 notifications of an account again, and then one a second", () =>
    Effect.gen(function*() {
      yield* watched("good")
      const recovery = yield* Recovery
      const sequences = Array.from({ length: 100 }, (_, i) => i + 1)
      yield* recovery.resend({ caller, ...name, sequences })
      yield* recovery.resend({ caller, ...name, sequences })
      const { message, reason } = yield* Effect.flip(recovery.resend({ caller, ...name, sequences: [1, 2] }))
      assert.deepStrictEqual([reason._tag, "retryAfter" in reason && reason.retryAfter], ["Throttled", 2])
      assert.strictEqual(
        message,
        "For your account, at most 200 notifications are sent again at once, and 60 a minute; try again in 2 seconds."
      )
      yield* TestClock.adjust("2 seconds")
      yield* recovery.resend({ caller, ...name, sequences: [1, 2] })
    }).pipe(Effect.provide(layer)))
})
