import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, References } from "effect"
import { basic, makeApi } from "#test/support/Api.ts"

const logOf = (accessLog: boolean) =>
  Effect.gen(function*() {
    const lines: Array<Record<string, unknown>> = []
    const logger = Logger.make(({ fiber }) => void lines.push(fiber.getRef(References.CurrentLogAnnotations)))
    const api = yield* makeApi({ ready: Effect.succeed(true) }, undefined, { accessLog })
    yield* api("/readyz?authorization=c2VjcmV0", { headers: basic() }).pipe(Effect.provide(Logger.layer([logger])))
    yield* api("/nothing?hub.secret=hidden").pipe(Effect.provide(Logger.layer([logger])))
    return lines
  }).pipe(Effect.scoped)

describe("the access log", () => {
  it.effect("has one line a request, without its query", () =>
    Effect.gen(function*() {
      const lines = yield* logOf(true)
      assert.deepStrictEqual(lines.map(({ milliseconds: _, ...fields }) => fields), [
        { client: "192.0.2.1", method: "GET", path: "/readyz", status: 200 },
        { client: "192.0.2.1", method: "GET", path: "/nothing", status: 404 }
      ])
      assert.notMatch(JSON.stringify(lines), /secret|c2VjcmV0/)
    }))

  it.effect("is off unless the settings turn it on", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* logOf(false), [])
    }))
})
