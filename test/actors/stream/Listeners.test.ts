import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Attachment, type Listener, Listeners } from "#actors/stream/Listeners.ts"
import * as ListenersLayer from "#actors/stream/ListenersLayer.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import { NotificationLog, type NumberedNotification } from "#domain/ports/NotificationLog.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import * as Settings from "#layers/Settings.ts"

const notification = (resourceId: number, id: number): Notification => ({
  id,
  resourceId,
  createdAt: 0,
  status: {},
  news: { _tag: "Failure" }
})

/** A log that a test writes, with `latency` before each answer, and its queries. */
class Log extends Context.Service<Log, {
  readonly write: (resourceId: number) => void
  /** The first ones are kept no longer. */
  readonly forget: (resourceId: number, count: number) => void
  readonly queries: Array<string>
  /** Notifications that fit into the bytes of one read. */
  maxPerRead: number
  latency: number
  failure: "Unavailable" | "Defect" | undefined
}>()("windhover/test/Listeners/Log") {}

const layerLog = Layer.effectContext(Effect.sync(() => {
  const kept = new Map<number, Array<NumberedNotification>>()
  const heads = new Map<number, number>()
  const log: Log["Service"] = {
    write: (resourceId) => {
      const sequence = (heads.get(resourceId) ?? 0) + 1
      heads.set(resourceId, sequence)
      kept.set(resourceId, [
        ...kept.get(resourceId) ?? [],
        { sequence, notification: notification(resourceId, sequence) }
      ])
    },
    forget: (resourceId, count) => void kept.get(resourceId)?.splice(0, count),
    queries: [],
    maxPerRead: Infinity,
    latency: 0,
    failure: undefined
  }
  const answered = <A>(question: string, answer: () => A): Effect.Effect<A, StoreError> =>
    Effect.suspend(() => {
      log.queries.push(question)
      if (log.failure !== undefined) {
        return Effect.fail(new StoreError({ reason: { _tag: log.failure, message: "Broken." } }))
      }
      const now = answer()
      return log.latency === 0 ? Effect.succeed(now) : Effect.delay(Effect.succeed(now), log.latency)
    })
  return Context.make(Log, log).pipe(
    Context.add(NotificationLog, {
      heads: (ids) => answered(`heads ${ids.join()}`, () => ids.map((id) => heads.get(id) ?? 0)),
      readAfter: (id, sequence, limit) =>
        answered(
          `after ${id} ${sequence}`,
          () =>
            (kept.get(id) ?? []).filter((one) => one.sequence > sequence).slice(0, Math.min(limit, log.maxPerRead))
              .map((one, at) => at + 1 === log.maxPerRead ? { ...one, isCut: true as const } : one)
        )
    })
  )
}))

const layer = (alone = true) =>
  ListenersLayer.layer.pipe(
    Layer.provideMerge(layerLog),
    Layer.provide(Settings.layerValues(alone ? {} : { runnerAddress: { host: "127.0.0.1", port: 1 } }))
  )

/** A listener that notes what it hears, and takes `room` at once. */
const makeListener = (cursors: Record<number, number>, room = Number.POSITIVE_INFINITY) => {
  const heard: Array<string> = []
  const state = { heard, room, failed: false }
  const listener: Listener = {
    cursors: new Map(Object.entries(cursors).map(([id, sequence]) => [Number(id), sequence])),
    take: ({ notification: { resourceId }, sequence }) => {
      assert.isAbove(state.room, 0)
      heard.push(`${resourceId}:${sequence}`)
      return --state.room > 0
    },
    missed: (resourceId, count) => void heard.push(`${resourceId} missed ${count}`),
    fail: () => {
      state.failed = true
    }
  }
  return { listener, state, heard }
}

/** Attaches a listener for the scope. Returns the function that resumes it. */
const listen = (listener: Listener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.flatMap(Listeners, ({ attach }) =>
        Effect.gen(function*() {
          let attached: Attachment | undefined
          yield* attach(listener, (attachment) => attached = attachment)
          return attached ?? assert.fail("not attached")
        })),
      ({ detach }) => Effect.sync(detach)
    ),
    ({ resume }) => resume
  )

/** Lets all fibers run that can. */
const settle = TestClock.adjust(0)

const expected = (resourceId: number, from: number, until: number) =>
  Array.from({ length: until - from + 1 }, (_, i) => `${resourceId}:${from + i}`)

describe("Listeners", () => {
  it.effect("read on after a read that ended by its bytes", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      log.maxPerRead = 2
      const { heard, listener } = makeListener({ 1: 0 })
      yield* listen(listener)
      yield* settle
      for (let i = 0; i < 7; i++) log.write(1)
      yield* notify(1)
      yield* settle
      assert.deepStrictEqual(heard, expected(1, 1, 7))
    }).pipe(Effect.provide(layer())))

  it.effect("get new notifications behind their cursors at once and in order", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      for (let i = 0; i < 3; i++) log.write(1)
      const [late, early] = [makeListener({ 1: 3 }), makeListener({ 1: 1 })]
      yield* listen(late.listener)
      yield* listen(early.listener)
      yield* settle
      assert.deepStrictEqual([late.heard, early.heard], [[], expected(1, 2, 3)])
      log.write(1)
      yield* notify(1)
      yield* settle
      assert.deepStrictEqual([late.heard, early.heard], [["1:4"], expected(1, 2, 4)])
    }).pipe(Effect.provide(layer())))

  it.effect("get nothing after they are detached, and cause no further query", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      const { heard, listener } = makeListener({ 1: 0 })
      yield* Effect.scoped(listen(listener))
      yield* settle
      log.queries.length = 0
      log.write(1)
      yield* notify(1)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([heard, log.queries], [[], []])
    }).pipe(Effect.provide(layer())))

  it.effect.each([[true, 5_000], [false, 400]] as const)(
    "find notifications without a wake-up: alone %s, within %d ms",
    ([alone, spacing]) =>
      Effect.gen(function*() {
        const log = yield* Log
        const { heard, listener } = makeListener({ 1: 0, 2: 0 })
        yield* listen(listener)
        yield* settle
        log.write(2)
        yield* TestClock.adjust(spacing - 1)
        log.write(1)
        yield* TestClock.adjust(1)
        yield* TestClock.adjust(spacing)
        assert.deepStrictEqual(heard.toSorted(), ["1:1", "2:1"])
      }).pipe(Effect.provide(layer(alone)))
  )

  it.effect("read at their own pace, and slow ones delay no others", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      const [slow, quick] = [makeListener({ 1: 0 }, 2), makeListener({ 1: 0 })]
      const goOn = yield* listen(slow.listener)
      yield* listen(quick.listener)
      for (let i = 0; i < 100; i++) {
        log.write(1)
        yield* notify(1)
        yield* settle
      }
      assert.deepStrictEqual([slow.heard, quick.heard], [expected(1, 1, 2), expected(1, 1, 100)])
      slow.state.room = 50
      goOn()
      yield* settle
      assert.deepStrictEqual(slow.heard, expected(1, 1, 52))
      slow.state.room = 1_000
      goOn()
      log.write(1)
      yield* notify(1)
      yield* settle
      assert.deepStrictEqual(slow.heard, expected(1, 1, 101))
    }).pipe(Effect.provide(layer())))

  it.effect("get the number of missed notifications that are no longer stored", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      for (let i = 0; i < 10; i++) log.write(1)
      log.forget(1, 7)
      const [part, all] = [makeListener({ 1: 2 }), makeListener({ 2: 0, 1: 9 })]
      yield* listen(part.listener)
      yield* listen(all.listener)
      yield* settle
      log.forget(1, 3)
      const none = makeListener({ 1: 4 })
      yield* listen(none.listener)
      yield* settle
      log.write(1)
      yield* notify(1)
      yield* settle
      assert.deepStrictEqual(part.heard, ["1 missed 5", ...expected(1, 8, 11)])
      assert.deepStrictEqual(all.heard, expected(1, 10, 11))
      assert.deepStrictEqual(none.heard, ["1 missed 6", "1:11"])
    }).pipe(Effect.provide(layer())))

  it.effect("wait while the database is away", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      const { heard, listener, state } = makeListener({ 1: 0 })
      yield* listen(listener)
      yield* settle
      log.failure = "Unavailable"
      log.write(1)
      yield* notify(1)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual([heard, state.failed], [[], false])
      log.failure = undefined
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(heard, ["1:1"])
    }).pipe(Effect.provide(layer())))

  it.effect("fail when new notifications cannot be read, instead of waiting for ever", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      const [one, other] = [makeListener({ 1: 0 }), makeListener({ 2: 0 })]
      yield* listen(one.listener)
      yield* listen(other.listener)
      yield* settle
      log.failure = "Defect"
      log.write(1)
      yield* notify(1)
      yield* settle
      assert.deepStrictEqual([one.state.failed, other.state.failed], [true, false])
    }).pipe(Effect.provide(layer())))

  it.effect("share one query per notification", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      const all = Array.from({ length: 1_200 }, () => makeListener({ 1: 0 }))
      yield* Effect.forEach(all, ({ listener }) => listen(listener))
      yield* settle
      log.queries.length = 0
      log.write(1)
      yield* notify(1)
      yield* settle
      assert.deepStrictEqual(log.queries, ["after 1 0"])
      assert.isTrue(all.every(({ heard }) => heard.join() === "1:1"))
    }).pipe(Effect.provide(layer())))

  it.effect("get each notification once and in order, at any speed and with any start", () =>
    Effect.gen(function*() {
      const { notify } = yield* Listeners
      const log = yield* Log
      let seed = 7
      const dice = (sides: number) => (seed = (seed * 48_271) % 2_147_483_647) % sides
      const written = [0, 0, 0]
      const made: Array<ReturnType<typeof makeListener> & { readonly goOn: () => void; readonly from: Array<number> }> =
        []
      for (let step = 0; step < 600; step++) {
        log.latency = dice(4) * 3
        const chance = dice(10)
        if (chance < 5) {
          const id = dice(3)
          written[id] = (written[id] ?? 0) + 1
          log.write(id)
          if (chance < 3) yield* notify(id) // others are found by the sweep
        } else if (chance === 5 && made.length < 40) {
          const from = written.map((until) => dice(until + 1))
          const one = makeListener({ 0: from[0] ?? 0, 1: from[1] ?? 0, 2: from[2] ?? 0 }, 1 + dice(5))
          made.push({ ...one, from, goOn: () => {} })
          const at = made.length - 1
          yield* Effect.forkScoped(
            Effect.map(listen(one.listener), (goOn) => {
              const known = made[at]
              if (known !== undefined) made[at] = { ...known, goOn }
            })
          )
        } else {
          const one = made[dice(Math.max(1, made.length))]
          if (one !== undefined && one.state.room <= 0) {
            one.state.room = 1 + dice(6)
            one.goOn()
          }
        }
        yield* TestClock.adjust(dice(5))
      }
      for (const one of made) {
        one.state.room = Number.POSITIVE_INFINITY
        one.goOn()
      }
      yield* TestClock.adjust("10 seconds")
      assert.isAbove(made.length, 20)
      for (const { from, heard } of made) {
        for (const [id, until] of written.entries()) {
          assert.deepStrictEqual(
            heard.filter((one) => one.startsWith(`${id}:`)),
            expected(id, (from[id] ?? 0) + 1, until)
          )
        }
        assert.isFalse(heard.some((one) => one.includes("missed")))
      }
    }).pipe(Effect.provide(layer())))
})
