import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { FeedReader } from "#domain/ports/FeedReader.ts"
import { Selector } from "#domain/ports/Selector.ts"
import * as FeedReaderWorker from "#layers/workers/FeedReaderWorker.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"

const immediately = { startImmediately: true }
const strangers = { key: "evil.example", isForStrangers: true }
const account = { key: "http://mine.example/", isForStrangers: false }

/** Documents of strangers that keep a thread busy without end. */
describe("turns at the threads for foreign documents", () => {
  it.live("endless selections of strangers delay no selection of an account", () =>
    Effect.gen(function*() {
      const { select } = yield* Selector
      const endless = {
        fragment: fragmentOf("http://a.example/#$.a[?search(@,'(x+x+)+y')]") ?? assert.fail("no fragment"),
        syntax: "json" as const,
        bytes: new TextEncoder().encode(JSON.stringify({ a: ["x".repeat(50)] })),
        contentType: undefined,
        turn: strangers
      }
      const attacking = yield* Effect.forkChild(
        Effect.forEach([1, 2, 3], () => Effect.exit(select(endless)), { concurrency: "unbounded" }),
        immediately
      )
      const fragment = fragmentOf("http://mine.example/#p") ?? assert.fail("no fragment")
      const bytes = new TextEncoder().encode("<p>mine")
      const { matches } = yield* select({ fragment, syntax: "html", bytes, contentType: undefined, turn: account })
      assert.strictEqual(matches, 1)
      assert.isUndefined(attacking.pollUnsafe())
      yield* Fiber.interrupt(attacking)
    }).pipe(Effect.provide(SelectorWorker.layerWith({ deadline: "1 minute" }))))

  it.live("large feeds of strangers delay no feed of an account", () =>
    Effect.gen(function*() {
      const { read } = yield* FeedReader
      const items = (count: number) => "<item><guid>1</guid><description>text</description></item>".repeat(count)
      const feed = (count: number) =>
        new TextEncoder().encode(`<rss version="2.0"><channel><title>t</title>${items(count)}</channel></rss>`)
      const large = feed(100_000)
      const attacking = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 40 }), () => read(large, {}, strangers), { concurrency: "unbounded" }),
        immediately
      )
      assert.strictEqual((yield* read(feed(200), {}, account))._tag, "Feed")
      assert.isUndefined(attacking.pollUnsafe())
      yield* Fiber.interrupt(attacking)
    }).pipe(Effect.provide(FeedReaderWorker.layerWith({ threadFromBytes: 1000, deadline: "1 minute" }))))
})
