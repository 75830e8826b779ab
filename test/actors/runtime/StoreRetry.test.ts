import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { Outage, whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { StoreError } from "#domain/ports/StoreError.ts"

const full = new StoreError({ reason: { _tag: "Unavailable", message: "No space left on device." } })

describe("whenAvailable", () => {
  it.effect("resumes after an outage, and logs at its start, every 30 s and at its end, for all retrying calls together", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      let isDown = true
      let tries = 0
      const statement = Effect.suspend(() => {
        tries++
        return isDown ? Effect.fail(full) : Effect.succeed(tries)
      })
      const logger = Logger.make(({ fiber, message }) => {
        const { reason } = fiber.getRef(References.CurrentLogAnnotations)
        lines.push(reason === undefined ? String(message) : `${String(message)} ${String(reason)}`)
      })
      const retrying = yield* Effect.all([whenAvailable(statement), whenAvailable(statement)], { concurrency: 2 }).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(Outage, { loggedAt: undefined }),
        Effect.forkChild
      )
      yield* TestClock.adjust("40 seconds")
      const outage = "The database is unavailable; work waits for it. No space left on device."
      assert.deepStrictEqual(lines, [outage, outage])
      isDown = false
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(retrying)).length, 2)
      assert.deepStrictEqual(lines, [outage, outage, "The database is available again."])
    }))

  it.effect("does not retry a defect", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(
        whenAvailable(Effect.fail(new StoreError({ reason: { _tag: "Defect", message: "A bug." } })))
      )
      assert.isTrue(Exit.isFailure(exit))
    }))
})
