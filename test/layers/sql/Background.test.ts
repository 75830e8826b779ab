import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { StoreError } from "#domain/ports/StoreError.ts"
import { makeWriteBehind } from "#layers/sql/Background.ts"

const unavailable = new StoreError({ reason: { _tag: "Unavailable", message: "no answer" } })
const damaged = new StoreError({ reason: { _tag: "Defect", message: "damaged" } })

/** A log of the statements with their start times and items. The first `failures` statements fail. */
const makeWriter = Effect.fnUntraced(function*(failures = 0) {
  const statements: Array<string> = []
  const writer = yield* makeWriteBehind<number>({
    delayMs: 50,
    flushAt: 3,
    dropsDefects: true,
    warning: "not written",
    write: (items) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        statements.push(`${now}ms ${items.join(" ")}`)
        return statements.length <= failures ? Effect.fail(unavailable) : Effect.void
      })
  })
  return { ...writer, statements }
})

describe("Background", () => {
  it.effect("writes items together, some time after the first of them", () =>
    Effect.gen(function*() {
      const { add, statements, unwritten } = yield* makeWriter()
      yield* TestClock.adjust(1_000)
      yield* add(1)
      yield* TestClock.adjust(49)
      yield* add(2)
      assert.deepStrictEqual([statements, [...unwritten]], [[], [1, 2]])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual([statements, [...unwritten]], [["1050ms 1 2"], []])
      yield* TestClock.adjust(1_000)
      yield* add(3)
      yield* TestClock.adjust(50)
      assert.deepStrictEqual(statements, ["1050ms 1 2", "2100ms 3"])
    }))

  it.effect("writes at once when many items wait, and when the scope closes", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { add, statements } = yield* Scope.provide(makeWriter(), scope)
      for (const item of [1, 2, 3]) yield* add(item)
      assert.deepStrictEqual(statements, ["0ms 1 2 3"])
      yield* add(4)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(statements, ["0ms 1 2 3", "0ms 4"])
    }))

  it.effect("keeps the items of a failed statement, and writes them a second later, with those that came since", () =>
    Effect.gen(function*() {
      const { add, statements, unwritten } = yield* makeWriter(2)
      yield* add(1)
      yield* TestClock.adjust(50)
      yield* add(2)
      yield* TestClock.adjust(1_050)
      assert.deepStrictEqual([...unwritten], [1, 2])
      yield* TestClock.adjust(1_050)
      assert.deepStrictEqual([statements, [...unwritten]], [["50ms 1", "1100ms 1 2", "2150ms 1 2"], []])
    }))

  for (const dropsDefects of [true, false]) {
    it.effect(`writes each item alone after a defect, and ${dropsDefects ? "drops" : "keeps"} the bad one`, () =>
      Effect.gen(function*() {
        const written: Array<number> = []
        const { add, unwritten } = yield* makeWriteBehind<number>({
          delayMs: 50,
          flushAt: 100,
          dropsDefects,
          warning: "not written",
          write: (items) =>
            items.includes(2)
              ? items.length > 1 ? Effect.die("no number") : Effect.fail(damaged)
              : Effect.sync(() => written.push(...items))
        })
        for (const item of [1, 2, 3]) yield* add(item)
        yield* TestClock.adjust(50)
        yield* TestClock.adjust(1_100)
        yield* add(4)
        yield* TestClock.adjust(3_000)
        assert.deepStrictEqual([written.toSorted(), [...unwritten]], [[1, 3, 4], dropsDefects ? [] : [2]])
      }))
  }

  it.effect("writes many items in several statements", () =>
    Effect.gen(function*() {
      const { add, statements } = yield* makeWriter(1)
      for (let item = 0; item < 7; item++) yield* add(item) // the statement for the first three fails
      yield* TestClock.adjust(2_000)
      assert.deepStrictEqual(statements, ["0ms 0 1 2", "50ms 0 1 2", "50ms 3 4 5", "50ms 6"])
    }))

  it.effect("writes nothing without items", () =>
    Effect.gen(function*() {
      const { flush, statements } = yield* makeWriter()
      yield* flush
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual(statements, [])
    }))
})
