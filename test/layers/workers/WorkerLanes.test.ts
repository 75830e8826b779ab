import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { StrangerLedger } from "#domain/limits/StrangerLedger.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { FeedReader } from "#domain/ports/FeedReader.ts"
import { Selector } from "#domain/ports/Selector.ts"
import * as FeedReaderWorker from "#layers/workers/FeedReaderWorker.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"

const immediately = { startImmediately: true }
const account = { key: "http://mine.example/", isForStrangers: false }
const topic = { host: "evil.example", askers: ["192.0.2.0/24"] }
const strangers = { key: "evil.example", isForStrangers: true, topic }

const feed = (items: number): Uint8Array => {
  const item = "<item><guid>1</guid><description>text</description></item>"
  return new TextEncoder().encode(`<rss version="2.0"><channel><title>t</title>${item.repeat(items)}</channel></rss>`)
}

const reader = FeedReaderWorker.layerWith({
  threadFromBytes: 10_000,
  strangersThreadFromBytes: 1000,
  deadline: "1 minute"
})

/** A ledger that adds up the times for reading. */
class CountingLedger extends StrangerLedger {
  readonly times: Array<number> = []
  override recordReading(read: typeof topic, ms: number): void {
    assert.strictEqual(read, topic)
    this.times.push(ms)
  }
}

const withLedger =
  <A, E, R>(ledger: StrangerLedger, precedence = new AccountPrecedence()) => (effect: Effect.Effect<A, E, R>) =>
    effect.pipe(Effect.provideService(StrangersLedger, ledger), Effect.provideService(Precedence, precedence))

/** Priorities of the threads of this process, without the main thread: the 19th field of /proc/self/task/ID/stat. */
const priorities = (): ReadonlyArray<string | undefined> =>
  fs.readdirSync("/proc/self/task").filter((id) => Number(id) !== process.pid).map((id) =>
    fs.readFileSync(`/proc/self/task/${id}/stat`, "latin1").split(") ")[1]?.split(" ")[16]
  )

describe("threads for strangers", () => {
  it.live("count the time of each document for its topic, in the thread and on the event loop", () => {
    const ledger = new CountingLedger()
    return Effect.gen(function*() {
      const { read } = yield* FeedReader
      yield* read(feed(20_000), {}, account)
      yield* read(feed(2), {}, account)
      assert.deepStrictEqual(ledger.times, [])
      yield* read(feed(20_000), {}, strangers)
      assert.isAbove(ledger.times.reduce((sum, ms) => sum + ms, 0), 5)
      const before = ledger.times.length
      yield* read(feed(2), {}, strangers)
      assert.strictEqual(ledger.times.length, before + 1)
    }).pipe(Effect.provide(reader), withLedger(ledger))
  })

  it.live("count the time of a selection that was ended", () => {
    const ledger = new CountingLedger()
    return Effect.gen(function*() {
      const { select } = yield* Selector
      const endless = {
        fragment: fragmentOf("http://a.example/#$.a[?search(@,'(x+x+)+y')]") ?? assert.fail("no fragment"),
        syntax: "json" as const,
        bytes: new TextEncoder().encode(JSON.stringify({ a: ["x".repeat(50)] })),
        contentType: undefined,
        turn: strangers
      }
      const { reason } = yield* Effect.flip(select(endless))
      assert.strictEqual(reason._tag, "Killed")
      assert.isAtLeast(ledger.times[0] ?? 0, 290, "three times the deadline of accounts")
    }).pipe(Effect.provide(SelectorWorker.layerWith({ deadline: "100 millis" })), withLedger(ledger))
  })

  it.live("wait for the work of accounts", () => {
    const precedence = new AccountPrecedence()
    return Effect.gen(function*() {
      const { read } = yield* FeedReader
      for (const turn of [account, strangers]) yield* read(feed(400), {}, turn) // the start of a thread takes its time
      precedence.begin()
      const waiting = yield* Effect.forkChild(read(feed(200), {}, strangers), immediately)
      assert.strictEqual((yield* read(feed(400), {}, account))._tag, "Feed")
      assert.isUndefined(waiting.pollUnsafe())
      precedence.end()
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Feed")
    }).pipe(Effect.provide(reader), withLedger(new StrangerLedger(), precedence))
  })

  it.live.skipIf(process.platform !== "linux")(
    "have a low priority, and accounts' threads the priority of the process",
    () =>
      Effect.gen(function*() {
        const { read } = yield* FeedReader
        const before = priorities().filter((priority) => priority === "10").length
        yield* read(feed(400), {}, account)
        assert.strictEqual(priorities().filter((priority) => priority === "10").length, before)
        yield* read(feed(400), {}, strangers)
        assert.strictEqual(priorities().filter((priority) => priority === "10").length, before + 1)
      }).pipe(Effect.provide(reader))
  )
})
