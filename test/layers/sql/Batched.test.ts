import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { StoreError } from "#domain/ports/StoreError.ts"
import { batched } from "#layers/sql/Batched.ts"

/** Statements that answer after `lasting` ms, and what they were asked and when. */
const world = (lasting: number, concurrency = 2, max = 64) => {
  const statements: Array<string> = []
  const ask = batched<number, string>({
    spacing: 25,
    concurrency,
    max,
    run: Effect.fnUntraced(function*(inputs) {
      statements.push(`${yield* Clock.currentTimeMillis}ms ${inputs.join(" ")}`)
      if (lasting > 0) yield* Effect.sleep(lasting)
      return inputs.map((input) => `answer ${input}`)
    })
  })
  return { ask: (input: number) => Effect.forkChild(ask(input)), statements }
}

describe("batched", () => {
  it.effect("who asks after a silence hardly waits; who comes soon after shares the next statement", () =>
    Effect.gen(function*() {
      const { ask, statements } = world(0)
      const fibers = [yield* ask(1), yield* ask(2)]
      yield* TestClock.adjust(3)
      fibers.push(yield* ask(3))
      yield* TestClock.adjust(10)
      fibers.push(yield* ask(4))
      yield* TestClock.adjust(100)
      fibers.push(yield* ask(5))
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(statements, ["1ms 1 2", "26ms 3 4", "114ms 5"])
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), [1, 2, 3, 4, 5].map((n) => `answer ${n}`))
    }))

  it.effect("while the database is slow its callers gather, and are asked for in groups that it can take", () =>
    Effect.gen(function*() {
      const { ask, statements } = world(200, 1, 4)
      for (let n = 0; n < 7; n++) {
        yield* ask(n)
        yield* TestClock.adjust(25)
      }
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(statements, ["1ms 0", "201ms 1 2 3 4", "401ms 5 6"])
    }))

  it.effect("who is interrupted while it waits is not asked for, and the others are", () =>
    Effect.gen(function*() {
      const { ask, statements } = world(200, 1)
      yield* ask(1)
      yield* TestClock.adjust(10)
      const left = yield* ask(2)
      yield* TestClock.adjust(50)
      yield* Fiber.interrupt(left)
      yield* TestClock.adjust(10)
      const stayed = yield* ask(3)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(statements, ["1ms 1", "201ms 3"])
      assert.strictEqual(yield* Fiber.join(stayed), "answer 3")
    }))

  it.effect("a statement that dies leaves its place to the next", () =>
    Effect.gen(function*() {
      let first = true
      const ask = batched<number, number>({
        spacing: 25,
        concurrency: 1,
        max: 64,
        run: (inputs) => {
          if (!first) return Effect.succeed(inputs)
          first = false
          return Effect.die("a slip")
        }
      })
      const dying = yield* Effect.forkChild(Effect.exit(ask(1)))
      yield* TestClock.adjust(1)
      assert.isTrue(Exit.hasDies(yield* Fiber.join(dying)))
      const next = yield* Effect.forkChild(ask(2))
      yield* TestClock.adjust(100)
      assert.strictEqual(yield* Fiber.join(next), 2)
    }))

  it.effect("an input that the database cannot take fails alone; a database that is away refuses all", () =>
    Effect.gen(function*() {
      let reason: "Defect" | "Unavailable" = "Defect"
      const ask = batched<number, number>({
        spacing: 25,
        concurrency: 1,
        max: 64,
        run: (inputs) =>
          inputs.includes(2)
            ? Effect.fail(new StoreError({ reason: { _tag: reason, message: "no" } }))
            : Effect.succeed(inputs)
      })
      const outcome = Effect.fnUntraced(function*() {
        const fiber = yield* Effect.forkChild(
          Effect.forEach([1, 2, 3], (n) => Effect.exit(ask(n)), { concurrency: "unbounded" })
        )
        yield* TestClock.adjust(100)
        return (yield* Fiber.join(fiber)).map(Exit.isSuccess)
      })
      assert.deepStrictEqual(yield* outcome(), [true, false, true])
      reason = "Unavailable"
      assert.deepStrictEqual(yield* outcome(), [false, false, false])
    }))
})
