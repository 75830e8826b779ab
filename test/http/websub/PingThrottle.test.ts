import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makePingThrottle } from "#http/websub/PingThrottle.ts"

const topic = "http://feeds.example/a"

/** A throttle that collects the published topics, and whether each ping is recorded. */
const makeThrottle = Effect.gen(function*() {
  const published: Array<string> = []
  const recorded: Array<boolean | undefined> = []
  const ping = yield* makePingThrottle((topics, publishing) =>
    Effect.sync(() => {
      published.push(...topics)
      recorded.push(publishing.recorded)
    })
  )
  return { published, recorded, ping }
})

describe("PingThrottle", () => {
  it.effect("publishes at once, and merges ping beyond the rate of a topic into a later one", () =>
    Effect.gen(function*() {
      const { published, ping } = yield* makeThrottle
      for (let i = 0; i < 50; i++) yield* ping([topic])
      assert.strictEqual(published.length, 10)
      yield* ping(["http://feeds.example/b"])
      assert.strictEqual(published.length, 11)
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(published.length, 11)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(published.slice(10), ["http://feeds.example/b", topic])
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(published.length, 12)
    }))

  it.effect("recognizes a topic in every spelling, and ignores invalid topics", () =>
    Effect.gen(function*() {
      const { published, ping } = yield* makeThrottle
      for (let i = 0; i < 6; i++) yield* ping([topic, "HTTP://Feeds.example:80/a", "nonsense", ""])
      assert.deepStrictEqual(published, Array.from({ length: 10 }, () => topic))
    }))

  it.effect("records a limited number of ping", () =>
    Effect.gen(function*() {
      const { ping, recorded } = yield* makeThrottle
      for (let i = 0; i < 1_000; i++) yield* ping([`http://feeds.example/${i}`])
      assert.deepStrictEqual([recorded.length, recorded.filter(Boolean).length], [1_000, 600])
      yield* TestClock.adjust("1 minute")
      for (let i = 1_000; i < 1_100; i++) yield* ping([`http://feeds.example/${i}`])
      assert.strictEqual(recorded.filter(Boolean).length, 660)
    }))
})
