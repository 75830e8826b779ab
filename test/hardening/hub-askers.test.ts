import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { Hub } from "#actors/operations/Hub.ts"
import { anonymous } from "#domain/Account.ts"
import { FetchError } from "#domain/ports/Fetcher.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import { hook, lines, started } from "#test/support/HubCalls.ts"
import { documentOf, layer } from "#test/support/SimulatedWeb.ts"

const mebibyte = 1024 * 1024
const hourMs = 3_600_000

/** Subscribes at the open hub from an address. */
const subscribeFrom = Effect.fnUntraced(function*(address: string, topic: string) {
  const hub = yield* Hub
  const callback = hook(topic.replaceAll(/\W/g, ""))
  yield* hub.subscribe({ caller: anonymous, topic, callback, address, face: "hub", retrieve: false, verify: "sync" })
})

/** Counts fetches of 1 GiB for a client network, from sites of their own. */
const fetchGibibytes = Effect.fnUntraced(function*(askers: ReadonlyArray<string>, count: number, now: number) {
  const ledger = yield* StrangersLedger
  for (let n = 0; n < count; n++) {
    const host = `filler${n}.example`
    ledger.recordFetch({ url: `http://${host}/`, host, askers, server: undefined, bytes: 1024 * mebibyte }, now)
  }
})

/** A client subscribes to topics of any number of sites, whose documents are fetched at each poll without a ping. */
describe("the client network that asked for subscriptions at the open hub", () => {
  it.effect("pays for the polls of its topics, and waits when it has used up its bytes", () =>
    Effect.gen(function*() {
      const web = yield* started
      const ledger = yield* StrangersLedger
      yield* fetchGibibytes(["192.0.2.0/24"], 4, 1_000)
      const large = documentOf(["a".repeat(8 * mebibyte - 4)])
      web.serve("http://first.example/", () => Effect.succeed(large))
      yield* subscribeFrom("192.0.2.7", "http://first.example/")
      assert.strictEqual(
        ledger.findPause({ host: "b.example", askers: ["192.0.2.0/24"] }, 1_000)?.waitMs,
        hourMs / 2048
      )
      yield* fetchGibibytes(["192.0.2.0/24"], 4, 1_000)

      yield* subscribeFrom("192.0.2.99", "http://second.example/")
      yield* subscribeFrom("198.51.100.1", "http://third.example/")
      assert.deepStrictEqual(["second", "third"].map((name) => lines(web, `poll ${name}.example`).length), [0, 1])
      const found = yield* ResourceStore.use((store) => store.find("http://second.example/"))
      assert.match(
        Option.getOrThrow(found).http ?? "",
        /the clients that subscribed to this topic have used up their bytes on this hub/
      )
      yield* TestClock.adjust("16 minutes")
      assert.strictEqual(lines(web, "poll second.example").length, 1)
    }).pipe(Effect.provide(layer)))

  it.effect("keeps a topic of others fetched, whatever else it has used up", () =>
    Effect.gen(function*() {
      const web = yield* started
      yield* fetchGibibytes(["192.0.2.0/24"], 20, 1_000)
      yield* subscribeFrom("198.51.100.1", "http://shared.example/")
      yield* (yield* Hub).subscribe({
        caller: anonymous,
        topic: "http://shared.example/",
        callback: hook("another"),
        address: "192.0.2.7",
        face: "hub",
        retrieve: false,
        verify: "sync"
      })
      yield* TestClock.adjust("5 minutes")
      assert.isAbove(lines(web, "poll shared.example").length, 2)
    }).pipe(Effect.provide(layer)))

  it.effect("pays for documents that are too large, although these are never read to their end", () =>
    Effect.gen(function*() {
      const web = yield* started
      const ledger = yield* StrangersLedger
      yield* fetchGibibytes(["192.0.2.0/24"], 4, 1_000)
      const tooLarge = new FetchError({ reason: { _tag: "TooLarge", message: "larger than 8388608 bytes" } })
      web.serve("http://large.example/", () => Effect.fail(tooLarge))
      yield* subscribeFrom("192.0.2.7", "http://large.example/")
      assert.strictEqual(
        ledger.findPause({ host: "b.example", askers: ["192.0.2.0/24"] }, 1_000)?.waitMs,
        hourMs / 2048
      )
    }).pipe(Effect.provide(layer)))
})
