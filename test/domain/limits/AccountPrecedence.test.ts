import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { AccountPrecedence, withoutPrecedence } from "#domain/limits/AccountPrecedence.ts"

const immediately = { startImmediately: true }

/** A precedence, and a function that starts a step of strangers and logs its begin. */
const makeSteps = Effect.sync(() => {
  const precedence = new AccountPrecedence()
  const begun: Array<string> = []
  const start = (name: string) =>
    Effect.forkChild(Effect.andThen(precedence.strangersTurn, Effect.sync(() => begun.push(name))), immediately)
  return { precedence, begun, start }
})

describe("AccountPrecedence", () => {
  it.effect("lets strangers begin at once while no account works", () =>
    Effect.gen(function*() {
      const { begun, precedence, start } = yield* makeSteps
      yield* precedence.withPrecedence(Effect.void)
      yield* start("a")
      assert.deepStrictEqual(begun, ["a"])
    }))

  it.effect("lets strangers wait for the last of the accounts", () =>
    Effect.gen(function*() {
      const { begun, precedence, start } = yield* makeSteps
      const accounts = yield* Effect.forEach([300, 600], (ms) =>
        Effect.forkChild(precedence.withPrecedence(Effect.sleep(ms)), immediately))
      yield* start("a")
      yield* start("b")
      yield* TestClock.adjust("599 millis")
      assert.deepStrictEqual(begun, [])
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(begun, ["a", "b"])
      yield* Effect.forEach(accounts, Fiber.join)
    }))

  it.effect("lets a step wait for a second at most", () =>
    Effect.gen(function*() {
      const { begun, precedence, start } = yield* makeSteps
      yield* Effect.forkChild(precedence.withPrecedence(Effect.never), immediately)
      yield* start("a")
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(begun, [])
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(begun, ["a"])
    }))

  it.effect("pauses while an account waits for another host, and goes on afterwards", () =>
    Effect.gen(function*() {
      const { begun, precedence, start } = yield* makeSteps
      const request = Effect.sleep(100).pipe(
        Effect.andThen(withoutPrecedence(Effect.sleep(200))),
        Effect.andThen(Effect.sleep(300))
      )
      const account = yield* Effect.forkChild(precedence.withPrecedence(request), immediately)
      yield* start("before the wait")
      yield* TestClock.adjust("99 millis")
      assert.deepStrictEqual(begun, [])
      yield* TestClock.adjust("1 milli")
      yield* start("during the wait")
      assert.deepStrictEqual(begun, ["before the wait", "during the wait"])
      yield* TestClock.adjust("200 millis")
      yield* start("after the wait")
      yield* TestClock.adjust("299 millis")
      assert.strictEqual(begun.length, 2)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual(begun[2], "after the wait")
      yield* Fiber.join(account)
    }))

  it.effect("pauses once for several waits of one account, and not for those that outlive its work", () =>
    Effect.gen(function*() {
      const { begun, precedence, start } = yield* makeSteps
      const other = yield* Effect.forkChild(precedence.withPrecedence(Effect.sleep(500)), immediately)
      const waits = Effect.forEach([100, 200], (ms) => withoutPrecedence(Effect.sleep(ms)), { concurrency: 2 })
      const forked = Effect.forkDetach(withoutPrecedence(Effect.sleep(300)), immediately)
      yield* Effect.forkChild(precedence.withPrecedence(Effect.andThen(forked, waits)), immediately)
      yield* start("a")
      yield* TestClock.adjust("499 millis")
      assert.deepStrictEqual(begun, [])
      yield* TestClock.adjust("1 milli")
      assert.deepStrictEqual(begun, ["a"])
      yield* Fiber.join(other)
      yield* start("b")
      assert.deepStrictEqual(begun, ["a", "b"])
    }))

  it.effect("ends with interrupted and failed work", () =>
    Effect.gen(function*() {
      const { begun, precedence, start } = yield* makeSteps
      const account = yield* Effect.forkChild(precedence.withPrecedence(Effect.never), immediately)
      yield* Effect.exit(precedence.withPrecedence(Effect.fail("broken")))
      const gone = yield* start("gone")
      yield* start("a")
      yield* Fiber.interrupt(gone)
      yield* Fiber.interrupt(account)
      assert.deepStrictEqual(begun, ["a"])
    }))
})
