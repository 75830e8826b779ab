import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import { makeRareWarning } from "#actors/runtime/RareWarning.ts"

describe("a rare warning", () => {
  it.effect("is one line in 30 s, with its reason and the number of unlogged failures", () => {
    const lines: Array<unknown> = []
    const logger = Logger.make(({ fiber, message }) =>
      void lines.push([String(message), { ...fiber.getRef(References.CurrentLogAnnotations) }])
    )
    return Effect.gen(function*() {
      const warn = makeRareWarning("A call failed.")
      for (let i = 0; i < 100; i++) yield* warn(new Error("", { cause: new Error("Refused.") }))
      yield* TestClock.adjust("29999 millis")
      yield* warn(new Error("Late."))
      yield* TestClock.adjust("1 millis")
      yield* warn(undefined)
      assert.deepStrictEqual(lines, [
        ["A call failed.", { reason: "Refused." }],
        ["A call failed.", { reason: "unknown", unloggedBefore: 100 }]
      ])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})
