import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makePingThrottle } from "#http/websub/PingThrottle.ts"

const topic = "http://feeds.example/a"

/** What is passed on, and whether it is recorded. */
const makeCollected = Effect.gen(function*() {
  const passed: Array<string> = []
  const recorded: Array<boolean | undefined> = []
  const pings = yield* makePingThrottle((topics, publishing) =>
    Effect.sync(() => {
      passed.push(...topics)
      recorded.push(publishing.recorded)
    })
  )
  return { passed, recorded, pings }
})

describe("Pings", () => {
  it.effect("are passed on at once; too many of one topic become one, a little later", () =>
    Effect.gen(function*() {
      const { passed, pings } = yield* makeCollected
      for (let i = 0; i < 50; i++) yield* pings([topic])
      assert.strictEqual(passed.length, 10)
      yield* pings(["http://feeds.example/b"])
      assert.strictEqual(passed.length, 11)
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual(passed.length, 11)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(passed.slice(10), ["http://feeds.example/b", topic])
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(passed.length, 12)
    }))

  it.effect("know a topic in all its spellings, and leave alone what is none", () =>
    Effect.gen(function*() {
      const { passed, pings } = yield* makeCollected
      for (let i = 0; i < 6; i++) yield* pings([topic, "HTTP://Feeds.example:80/a", "nonsense", ""])
      assert.deepStrictEqual(passed, Array.from({ length: 10 }, () => topic))
    }))

  it.effect("are recorded up to a bound, so that nobody can fill the disk", () =>
    Effect.gen(function*() {
      const { pings, recorded } = yield* makeCollected
      for (let i = 0; i < 1_000; i++) yield* pings([`http://feeds.example/${i}`])
      assert.deepStrictEqual([recorded.length, recorded.filter(Boolean).length], [1_000, 600])
      yield* TestClock.adjust("1 minute")
      for (let i = 1_000; i < 1_100; i++) yield* pings([`http://feeds.example/${i}`])
      assert.strictEqual(recorded.filter(Boolean).length, 660)
    }))
})
