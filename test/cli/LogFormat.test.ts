import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, type Logger, Logger as Loggers } from "effect"
import { logFormats } from "#main/cli/LogFormat.ts"

const logged = (format: Logger.Logger<unknown, string>, effect: Effect.Effect<unknown>) =>
  Effect.gen(function*() {
    const lines: Array<string> = []
    yield* effect.pipe(Effect.provide(Loggers.layer([Loggers.map(format, (line) => void lines.push(line))])))
    return lines
  })

const record = Effect.logWarning("A host refuses.").pipe(
  Effect.annotateLogs({ host: "a\u202eb\u001b[31m", partition: 7 })
)

describe("the log", () => {
  it.effect("is logfmt without the number of the fiber", () =>
    Effect.gen(function*() {
      const [line = ""] = yield* logged(logFormats.logfmt, record)
      assert.match(line, /^timestamp=\S+ level=WARN message="A host refuses." host=/)
      assert.notMatch(line, /fiber|\u202e|\u001b/)
    }))

  it.effect("is one JSON object a line, with its fields beside the message", () =>
    Effect.gen(function*() {
      const [line = ""] = yield* logged(logFormats.json, record)
      const { timestamp, ...rest } = JSON.parse(line) as Record<string, unknown>
      assert.deepStrictEqual(rest, {
        host: "a\u202eb\u001b[31m",
        partition: 7,
        level: "WARN",
        message: "A host refuses."
      })
      assert.match(String(timestamp), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      assert.notMatch(line, /[\u202e\u001b\n]/)
    }))

  it.effect("has the cause of a failure in both formats", () =>
    Effect.gen(function*() {
      const failure = Effect.logError("A statement failed.", Cause.die(new Error("no disk")))
      assert.include((yield* logged(logFormats.json, failure))[0], "no disk")
      assert.include((yield* logged(logFormats.logfmt, failure))[0], "no disk")
    }))
})
