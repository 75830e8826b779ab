import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { feed } from "#test/support/HubCalls.ts"
import { layerPartition, watchTopics } from "#test/support/PartitionActors.ts"

const detailsAt = (level: "Debug" | "Info") => {
  const lines: Array<readonly [message: string, fields: Record<string, unknown>]> = []
  const logger = Logger.make(({ fiber, message }) => {
    lines.push([String(message), fiber.getRef(References.CurrentLogAnnotations)])
  })
  return Effect.gen(function*() {
    const { web } = yield* watchTopics()
    web.publish(feed, ["first"])
    yield* TestClock.adjust("5 seconds")
    web.publish(feed, ["second", "first"])
    yield* TestClock.adjust("2 minutes")
    return lines
  }).pipe(
    Effect.provide(
      layerPartition().pipe(
        Layer.provideMerge(MemoryStores.layer),
        Layer.provideMerge(Layer.mergeAll(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, level)))
      )
    )
  )
}

describe("the log of a partition", () => {
  it.effect("has each poll and each delivery at the level debug", () =>
    Effect.gen(function*() {
      const lines = yield* detailsAt("Debug")
      const polls = lines.filter(([message]) => message === "A resource was polled.").map(([, fields]) => fields)
      assert.deepStrictEqual(
        polls.slice(0, 2).map(({ code, entries, failures }) => ({ code, entries, failures })),
        [{ code: 200, entries: 1, failures: 0 }, { code: 200, entries: 1, failures: 0 }]
      )
      const deliveries = lines.filter(([message]) => message === "A delivery was tried.").map(([, fields]) => fields)
      assert.deepStrictEqual(deliveries.map(({ subscription: _, ...fields }) => fields), [{
        channel: "webhook",
        host: "good.hooks.example",
        sequence: 1,
        attempt: 1,
        outcome: "delivered"
      }])
    }))

  it.effect("has none of them at the level info", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* detailsAt("Info"), [])
    }))
})
