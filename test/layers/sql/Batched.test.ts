import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { StoreError } from "#domain/ports/StoreError.ts"
import { batched, noSpacing, sharedReads } from "#layers/sql/Batched.ts"

/** Statements of a given duration, with a log of their start times and inputs. */
const makeBatch = (durationMs: number, concurrency = 2, max = 64) => {
  const statements: Array<string> = []
  const ask = batched<number, string>({
    concurrency,
    maxInputs: max,
    run: Effect.fnUntraced(function*(inputs) {
      statements.push(`${yield* Clock.currentTimeMillis}ms ${inputs.join(" ")}`)
      if (durationMs > 0) yield* Effect.sleep(durationMs)
      return inputs.map((input) => `answer ${input}`)
    })
  })
  return { ask: (input: number) => Effect.forkChild(ask(input)), statements }
}

describe("Batched", () => {
  it.effect("runs a call at once while no statement runs, and lets calls of one turn share a statement", () =>
    Effect.gen(function*() {
      const { ask, statements } = makeBatch(0)
      const fibers = [yield* ask(1), yield* ask(2)]
      yield* Effect.forEach(fibers, Fiber.await)
      fibers.push(yield* ask(3))
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), [1, 2, 3].map((n) => `answer ${n}`))
      assert.deepStrictEqual(statements, ["0ms 1 2", "0ms 3"])
    }))

  /** Statements of callers that may wait: a negative input a tenth of the time, and zero not at all. */
  const makeSpacedBatch = (maxInputs: number) => {
    const statements: Array<string> = []
    const ask = batched<number, string>({
      maxInputs,
      spacing: (input) =>
        input === 0 ? noSpacing : input < 0 ? { msPerInput: 4, maxMs: 6 } : { msPerInput: 10, maxMs: 25 },
      run: Effect.fnUntraced(function*(inputs) {
        statements.push(`${yield* Clock.currentTimeMillis}ms ${inputs.join(" ")}`)
        return inputs.map(String)
      })
    })
    const askAt = Effect.fnUntraced(function*(now: number, ...inputs: ReadonlyArray<number>) {
      yield* TestClock.setTime(now)
      for (const input of inputs) yield* Effect.forkChild(ask(input))
      yield* TestClock.adjust(0)
    })
    return { askAt, statements }
  }

  it.effect("lets callers that may wait share a statement, the longer the more callers the last one had", () =>
    Effect.gen(function*() {
      const { askAt, statements } = makeSpacedBatch(64)
      yield* askAt(100, 1) // the first one waits for nobody
      yield* askAt(105, 2)
      yield* askAt(109, 3)
      yield* TestClock.setTime(110)
      yield* askAt(120, 4)
      yield* askAt(129, 5, 6)
      yield* TestClock.setTime(130)
      yield* askAt(154, 7)
      yield* TestClock.setTime(155) // the longest spacing
      yield* askAt(165, 8)
      yield* askAt(300, 9)
      yield* askAt(50, 10) // the clock was set back
      assert.deepStrictEqual(statements, [
        "100ms 1",
        "110ms 2 3",
        "130ms 4 5 6",
        "155ms 7",
        "165ms 8",
        "300ms 9",
        "50ms 10"
      ])
    }))

  it.effect("does not wait for company with a caller that may not wait, and with a full statement", () =>
    Effect.gen(function*() {
      const { askAt, statements } = makeSpacedBatch(3)
      yield* askAt(100, 1, 2)
      yield* askAt(101, 3)
      yield* askAt(110, 0)
      yield* askAt(111, 0) // without a wait under way
      yield* askAt(112, 6)
      yield* askAt(113, 7)
      yield* askAt(114, 8)
      yield* askAt(115, 9, 10, 11, 12)
      yield* TestClock.setTime(300)
      assert.deepStrictEqual(statements, [
        "100ms 1 2",
        "110ms 3 0",
        "111ms 0",
        "114ms 6 7 8",
        "115ms 9 10 11",
        "140ms 12"
      ])
    }))

  it.effect("waits for company as long as the most urgent caller may", () =>
    Effect.gen(function*() {
      const { askAt, statements } = makeSpacedBatch(64)
      yield* askAt(100, 1, 2)
      yield* askAt(102, 3) // until 120
      yield* askAt(103, -4) // until 106
      yield* askAt(104, 5)
      yield* TestClock.setTime(106)
      yield* askAt(107, -6) // until 112
      yield* askAt(111, 7)
      yield* TestClock.setTime(112)
      yield* askAt(113, 8) // until 132
      yield* askAt(119, -9) // later than its 118
      yield* TestClock.setTime(300)
      assert.deepStrictEqual(statements, ["100ms 1 2", "106ms 3 -4 5", "112ms -6 7", "119ms 8 -9"])
    }))

  it.effect("collects callers while a statement runs, and runs statements of bounded size", () =>
    Effect.gen(function*() {
      const { ask, statements } = makeBatch(200, 1, 4)
      for (let n = 0; n < 7; n++) {
        yield* ask(n)
        yield* TestClock.adjust(25)
      }
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(statements, ["0ms 0", "200ms 1 2 3 4", "400ms 5 6"])
    }))

  it.effect("sends a second statement while the first one runs, and collects the callers behind both", () =>
    Effect.gen(function*() {
      const { ask, statements } = makeBatch(200)
      for (let n = 0; n < 5; n++) {
        yield* ask(n)
        yield* TestClock.adjust(50)
      }
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(statements, ["0ms 0", "50ms 1", "200ms 2 3", "250ms 4"])
    }))

  it.effect("gathers callers for a time, where a statement is expensive and nothing waits for its answer", () =>
    Effect.gen(function*() {
      const statements: Array<ReadonlyArray<number>> = []
      const ask = batched<number, number>({
        gatheringMs: 20,
        maxInputs: 64,
        run: (inputs) => Effect.as(Effect.sync(() => statements.push(inputs)), inputs)
      })
      yield* Effect.forkChild(ask(1))
      yield* TestClock.adjust(19)
      yield* Effect.forkChild(ask(2))
      assert.deepStrictEqual(statements, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(statements, [[1, 2]])
    }))

  it.effect("leaves an interrupted caller out of the statement, and serves the others", () =>
    Effect.gen(function*() {
      const { ask, statements } = makeBatch(200, 1)
      yield* ask(1)
      yield* TestClock.adjust(10)
      const left = yield* ask(2)
      yield* TestClock.adjust(50)
      yield* Fiber.interrupt(left)
      yield* TestClock.adjust(10)
      const stayed = yield* ask(3)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(statements, ["0ms 1", "200ms 3"])
      assert.strictEqual(yield* Fiber.join(stayed), "answer 3")
    }))

  it.effect("runs the next statement after one that died", () =>
    Effect.gen(function*() {
      let first = true
      const ask = batched<number, number>({
        concurrency: 1,
        maxInputs: 64,
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

  it.effect("fails only the caller of a bad input, but all callers of an unavailable database", () =>
    Effect.gen(function*() {
      let reason: "Defect" | "Unavailable" = "Defect"
      const ask = batched<number, number>({
        concurrency: 1,
        maxInputs: 64,
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

  it.effect("reads equal inputs once for all callers that arrive before the statement", () =>
    Effect.gen(function*() {
      const statements: Array<ReadonlyArray<string>> = []
      const read = sharedReads<string, { readonly name: string }>({
        keyOf: (name) => name.toLowerCase(),
        maxInputs: 64,
        run: Effect.fnUntraced(function*(names) {
          statements.push(names.map((name) => name.toLowerCase()))
          yield* Effect.sleep(10)
          return names.map((name) => ({ name: name.toLowerCase() }))
        })
      })
      const first = yield* Effect.forEach(["a", "b", "A", "c", "b"], (name) => Effect.forkChild(read(name)))
      yield* TestClock.adjust(5)
      const late = yield* Effect.forkChild(read("a"))
      yield* TestClock.adjust(100)
      const outputs = yield* Effect.forEach(first, Fiber.join)
      assert.deepStrictEqual(outputs.map(({ name }) => name), ["a", "b", "a", "c", "b"])
      assert.strictEqual(outputs[0], outputs[2])
      assert.notStrictEqual(yield* Fiber.join(late), outputs[0])
      assert.deepStrictEqual(statements, [["a", "b", "c"], ["a"]])
    }))
})
