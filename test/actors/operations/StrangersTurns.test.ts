import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { StrangersTurns } from "#actors/operations/StrangersTurns.ts"
import * as Turns from "#actors/operations/StrangersTurns.ts"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { Precedence } from "#domain/ports/Precedence.ts"

const immediately = { startImmediately: true }

/** A test of turns with a precedence of their own. */
const turnsTest = (
  name: string,
  body: (precedence: AccountPrecedence) => Effect.Effect<unknown, unknown, StrangersTurns>
) =>
  it.effect(name, () => {
    const precedence = new AccountPrecedence()
    return body(precedence).pipe(Effect.provide(Turns.layer.pipe(Layer.provide(Layer.succeed(Precedence, precedence)))))
  })

describe("StrangersTurns", () => {
  turnsTest("lets a client pass the waiting requests of a flood", () =>
    Effect.gen(function*() {
      const { run } = yield* StrangersTurns
      const ended: Array<string> = []
      const start = (network: string, name: string) =>
        Effect.forkChild(
          run(network, Effect.andThen(Effect.sleep(20), Effect.sync(() => ended.push(name)))),
          immediately
        )
      for (let n = 0; n < 100; n++) yield* start("flood", `flood ${n}`)
      yield* start("honest", "honest")
      yield* TestClock.adjust("40 millis")
      assert.deepStrictEqual(ended, ["flood 0", "honest"])
    }))

  turnsTest("refuses requests of a client beyond 256 that wait, and no other client", () =>
    Effect.gen(function*() {
      const { run } = yield* StrangersTurns
      const waiting = yield* Effect.forEach(
        Array.from({ length: 256 }),
        () => Effect.forkChild(run("flood", Effect.never), immediately)
      )
      const refused = yield* Effect.flip(run("flood", Effect.void))
      assert.match(String(refused), /Too many requests of your network wait/)
      const other = yield* Effect.forkChild(run("honest", Effect.succeed("done")), immediately)
      yield* Effect.forEach(waiting, Fiber.interrupt)
      assert.strictEqual(yield* Fiber.join(other), "done")
      assert.strictEqual(yield* run("flood", Effect.succeed("again")), "again")
    }))

  turnsTest("waits for accounts", (precedence) =>
    Effect.gen(function*() {
      const { run } = yield* StrangersTurns
      precedence.begin()
      const request = yield* Effect.forkChild(run("honest", Effect.succeed("done")), immediately)
      yield* TestClock.adjust("500 millis")
      assert.isUndefined(request.pollUnsafe())
      precedence.end()
      assert.strictEqual(yield* Fiber.join(request), "done")
    }))
})
