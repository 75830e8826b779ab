import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { Outage, whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { StoreError } from "#domain/ports/StoreError.ts"

const full = new StoreError({ reason: { _tag: "Unavailable", message: "No space left on device." } })

describe("waiting for the database", () => {
  it.effect("goes on when it is back; the log is told at once, every 30 s, and at the end, however many wait", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      let away = true
      let asked = 0
      const work = Effect.suspend(() => {
        asked++
        return away ? Effect.fail(full) : Effect.succeed(asked)
      })
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      const waiting = yield* Effect.all([whenAvailable(work), whenAvailable(work)], { concurrency: 2 }).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(Outage, { loggedAt: undefined }),
        Effect.forkChild
      )
      yield* TestClock.adjust("40 seconds")
      const told = "Database unavailable; retrying: No space left on device."
      assert.deepStrictEqual(lines, [told, told])
      away = false
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(waiting)).length, 2)
      assert.deepStrictEqual(lines, [told, told, "Database available again."])
    }))

  it.effect("does not wait for what will not pass", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(
        whenAvailable(Effect.fail(new StoreError({ reason: { _tag: "Defect", message: "A bug." } })))
      )
      assert.isTrue(Exit.isFailure(exit))
    }))
})
