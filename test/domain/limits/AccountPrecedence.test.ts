import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"

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
