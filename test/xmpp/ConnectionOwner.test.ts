import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, References } from "effect"
import { TestClock } from "effect/testing"
import * as ConnectionOwner from "#xmpp/ConnectionOwner.ts"

/** Runners that reach the server, by the number of a delegate, and the moves of the connection. */
const make = Effect.gen(function*() {
  const state = {
    /** The owner's runner reaches the server. */
    isLocalUp: true,
    /** Delegates whose runner reaches the server. */
    up: new Set<number>(),
    /** Delegates whose runner answers the owner. */
    answering: new Set(Array.from({ length: ConnectionOwner.delegateCount }, (_, i) => i)),
    /** Probes of the first delegate. */
    probes: 0
  }
  const log: Array<string> = []
  let now = 0
  /** Time of the last answer of the server to the connection. */
  const lastAnswer = new Map<string, number>()
  const cutOffMs = (place: string, isUp: boolean) => {
    if (isUp || !lastAnswer.has(place)) lastAnswer.set(place, now)
    return now - (lastAnswer.get(place) ?? 0)
  }
  const place = yield* ConnectionOwner.make({
    open: Effect.acquireRelease(
      Effect.sync(() => {
        log.push("local opens")
        lastAnswer.delete("local")
        return "connection"
      }),
      () => Effect.sync(() => log.push("local closes"))
    ),
    cutOffMs: () => cutOffMs("local", state.isLocalUp),
    probe: Effect.sync(() => state.isLocalUp),
    delegates: {
      probe: (number) =>
        state.answering.has(number)
          ? Effect.sync(() => {
            if (number === 0) state.probes++
            return state.up.has(number)
          })
          : Effect.never,
      hold: (number) =>
        state.answering.has(number)
          ? Effect.sync(() => {
            if (log.at(-1) !== `delegate ${number}`) {
              log.push(`delegate ${number}`)
              lastAnswer.delete(String(number))
            }
            return Option.some(cutOffMs(String(number), state.up.has(number)))
          })
          : Effect.succeedNone
    }
  })
  const pass = Effect.fnUntraced(function*(seconds: number) {
    for (let i = 0; i < seconds; i++) {
      now += 1_000
      yield* TestClock.adjust("1 second")
    }
  })
  const here = Effect.sync(() => {
    const now = place()
    return now._tag === "Local" ? "local" : now.number
  })
  return { state, log, pass, here }
})

describe("ConnectionOwner", () => {
  it.effect("moves the connection to a runner that reaches the server, 15 s after the owner is cut off", () =>
    Effect.gen(function*() {
      const { here, log, pass, state } = yield* make
      state.up.add(7)
      yield* pass(60)
      state.isLocalUp = false
      yield* pass(14)
      assert.strictEqual(yield* here, "local")
      yield* pass(3)
      assert.strictEqual(yield* here, 7)
      assert.deepStrictEqual(log, ["local opens", "local closes", "delegate 7"])
      state.isLocalUp = true
      yield* pass(600)
      assert.strictEqual(yield* here, 7) // a connection that works stays
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))

  it.effect("stays while no runner reaches the server, and searches every 15 s", () =>
    Effect.gen(function*() {
      const { here, log, pass, state } = yield* make
      state.isLocalUp = false
      yield* pass(600)
      assert.strictEqual(yield* here, "local")
      assert.deepStrictEqual(log, ["local opens"])
      assert.isAtMost(state.probes, 600 / 15)
      assert.isAtLeast(state.probes, 600 / 15 - 4)
      state.isLocalUp = true // the server is back, for all
      state.up.add(0)
      yield* pass(600)
      assert.deepStrictEqual(log, ["local opens"])
    }))

  it.effect("takes the connection back from a delegate that is cut off, or gives it to another one", () =>
    Effect.gen(function*() {
      const { here, log, pass, state } = yield* make
      state.isLocalUp = false
      state.up.add(3)
      yield* pass(20)
      assert.strictEqual(yield* here, 3)
      state.up.clear()
      yield* pass(60)
      assert.strictEqual(yield* here, 3)
      state.up.add(5)
      yield* pass(20)
      assert.strictEqual(yield* here, 5)
      state.up.clear()
      state.isLocalUp = true
      yield* pass(35)
      assert.strictEqual(yield* here, "local")
      assert.deepStrictEqual(log, ["local opens", "local closes", "delegate 3", "delegate 5", "local opens"])
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))

  it.effect("leaves a delegate that does not answer for 15 s", () =>
    Effect.gen(function*() {
      const { here, pass, state } = yield* make
      state.isLocalUp = false
      state.up.add(3)
      yield* pass(20)
      state.answering.delete(3)
      state.isLocalUp = true
      yield* pass(13)
      assert.strictEqual(yield* here, 3)
      yield* pass(10)
      assert.strictEqual(yield* here, "local")
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None")))
})
