import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { FeedReader } from "#domain/ports/FeedReader.ts"
import { splitResult } from "#layers/workers/feed-reader/ResultParts.ts"
import * as Reader from "#layers/workers/FeedReaderWorker.ts"

const feed = (entries: number): Uint8Array => {
  const items = Array.from({ length: entries }, (_, n) => `<item><guid>${n}</guid><title>Item ${n}</title></item>`)
    .join("")
  return new TextEncoder().encode(`<rss version="2.0"><channel><title>Big</title>${items}</channel></rss>`)
}

const turn = { key: "http://feeds.example/rss", isForStrangers: false }

const inThread = Reader.layerWith({ threadFromBytes: 1000, deadline: "1 minute" })

describe("FeedReader", () => {
  it.effect("gives the same result in the thread as on the event loop", () =>
    Effect.gen(function*() {
      const { read } = yield* FeedReader
      const bytes = feed(100)
      const whole = readFeed(bytes)
      assert.deepStrictEqual(yield* read(bytes, {}, turn), whole)
      const seenSlices = new Set(whole._tag === "Feed" ? whole.slices?.slice(1) : [])
      const part = yield* read(bytes, { seenSlices }, turn)
      assert.strictEqual(part._tag === "Feed" ? part.skipped : undefined, 99)
    }).pipe(Effect.provide(inThread)))

  it.effect("gets a long result in parts that do not block the event loop", () =>
    Effect.gen(function*() {
      const { read } = yield* FeedReader
      const item = (n: number) => `<item><guid>${n}</guid><description>${"long ".repeat(20_000)}</description></item>`
      const items = Array.from({ length: 30 }, (_, n) => item(n)).join("")
      const bytes = new TextEncoder().encode(`<rss version="2.0"><channel><title>Big</title>${items}</channel></rss>`)
      const whole = readFeed(bytes)
      assert.deepStrictEqual([...splitResult(whole)].map(({ entries }) => entries.length), [5, 5, 5, 5, 5, 5, 0])
      assert.deepStrictEqual(yield* read(bytes, {}, turn), whole)
    }).pipe(Effect.provide(inThread)))

  it.effect("gives each caller the result for its own document", () =>
    Effect.gen(function*() {
      const { read } = yield* FeedReader
      const counts = yield* Effect.forEach([100, 1, 200, 300], (count) => read(feed(count), {}, turn), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(counts.map((result) => result._tag === "Feed" ? result.feed.entries.length : 0), [
        100,
        1,
        200,
        300
      ])
    }).pipe(Effect.provide(inThread)))

  it.effect("fails at the deadline, and reads the next document", () =>
    Effect.gen(function*() {
      const { read } = yield* FeedReader
      yield* read(feed(100), {}, turn) // the start of the thread does not count
      const slow = yield* Effect.forkChild(Effect.flip(read(feed(200_000), {}, turn)))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(slow)).message, "The document cannot be read: it takes too long.")
      assert.strictEqual((yield* read(feed(100), {}, turn))._tag, "Feed")
    }).pipe(Effect.provide(inThread)))

  it.effect("ends with an interrupted caller, and reads for the others", () =>
    Effect.gen(function*() {
      const { read } = yield* FeedReader
      const given = yield* Effect.forkChild(read(feed(200_000), {}, turn), { startImmediately: true })
      yield* Fiber.interrupt(given)
      assert.strictEqual((yield* read(feed(100), {}, turn))._tag, "Feed")
    }).pipe(Effect.provide(inThread)))

  it.effect("reads small documents on the event loop", () =>
    Effect.gen(function*() {
      const { read } = yield* FeedReader
      assert.strictEqual((yield* read(feed(2), {}, turn))._tag, "Feed")
    }).pipe(Effect.provide(Layer.mergeAll(Reader.layer))))
})
