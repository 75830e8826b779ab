import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch } from "effect"
import { TestClock } from "effect/testing"
import { StrangerLedger } from "#domain/limits/StrangerLedger.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import { makePingThrottle } from "#http/websub/PingThrottle.ts"

const topic = "http://feeds.example/a"
const client = "10.0.0.0/24"

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
}).pipe(Effect.provideServiceEffect(StrangersLedger, Effect.sync(() => ledger = new StrangerLedger())))

let ledger = new StrangerLedger()

describe("PingThrottle", () => {
  it.effect("publishes at once, and merges ping beyond the rate of a topic into a later one", () =>
    Effect.gen(function*() {
      const { published, ping } = yield* makeThrottle
      for (let i = 0; i < 50; i++) yield* ping([topic], client)
      assert.strictEqual(published.length, 10)
      yield* ping(["http://feeds.example/b"], client)
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
      for (let i = 0; i < 6; i++) yield* ping([topic, "HTTP://Feeds.example:80/a", "nonsense", ""], client)
      assert.deepStrictEqual(published, Array.from({ length: 10 }, () => topic))
    }))

  it.effect("publishes all topics of a request at once", () =>
    Effect.gen(function*() {
      let running = 0
      const all = Latch.makeUnsafe(false)
      const ping = yield* makePingThrottle(() => {
        if (++running === 20) all.openUnsafe()
        return all.await
      })
      yield* ping(Array.from({ length: 20 }, (_, i) => `http://feeds${i}.example/`), client)
      assert.strictEqual(running, 20)
    }))

  it.effect("records a limited number of ping", () =>
    Effect.gen(function*() {
      const { ping, recorded } = yield* makeThrottle
      for (let i = 0; i < 1_000; i++) yield* ping([`http://feeds${i}.example/`], `10.0.${i >> 8}.0/24`)
      assert.deepStrictEqual([recorded.length, recorded.filter(Boolean).length], [1_000, 600])
      yield* TestClock.adjust("1 minute")
      for (let i = 1_000; i < 1_100; i++) yield* ping([`http://feeds${i}.example/`], `10.0.${i >> 8}.0/24`)
      assert.strictEqual(recorded.filter(Boolean).length, 660)
    }))

  it.effect("refuses the pings of a client beyond its rate, and serves other clients", () =>
    Effect.gen(function*() {
      const { ping, published, recorded } = yield* makeThrottle
      const topics = (n: number) => Array.from({ length: 100 }, (_, i) => `http://feeds${n}-${i}.example/`)
      for (let n = 0; n < 10; n++) yield* ping(topics(n), client)
      const { message, reason } = yield* Effect.flip(ping(topics(10), client))
      assert.deepStrictEqual([reason._tag, "retryAfter" in reason ? reason.retryAfter : 0], ["Throttled", 6])
      assert.match(message, /^Your network sends too many pings/)
      assert.deepStrictEqual([published.length, recorded.filter(Boolean).length], [1_000, 300])
      yield* ping(topics(10), "10.0.1.0/24")
      assert.deepStrictEqual([published.length, recorded.filter(Boolean).length], [1_100, 400])
    }))

  it.effect("merges pings of a site beyond its rate, and lets a client wait that has caused many bytes", () =>
    Effect.gen(function*() {
      const { ping, published } = yield* makeThrottle
      for (let i = 0; i < 601; i++) yield* ping([`http://a.example/${i}`], client)
      assert.strictEqual(published.length, 600)
      yield* TestClock.adjust("50 millis")
      assert.strictEqual(published.length, 601)
      const large = "http://large.example/"
      ledger.recordFetch({ url: large, host: "large.example", server: undefined, bytes: 512 << 20 }, 0)
      for (let i = 0; i < 4; i++) yield* ping([large], client)
      const count = () => published.filter((topic) => topic === large).length
      assert.strictEqual(count(), 3)
      yield* ping([large], "10.0.1.0/24")
      assert.strictEqual(count(), 4, "another client does not wait")
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(count(), 5)
    }))
})
