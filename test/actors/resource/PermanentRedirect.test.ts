import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FetchError } from "#domain/ports/Fetcher.ts"
import { feed, lines } from "#test/support/HubCalls.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import { documentOf, type SimulatedWeb } from "#test/support/SimulatedWeb.ts"

const to = "http://new.example/feed"

/** The feed redirects to the new place, for good or not; there the ids are. */
const redirecting = (web: SimulatedWeb["Service"]) => {
  const site = { permanent: true, up: true, ids: ["first"] }
  const gone = new FetchError({ reason: { _tag: "Dns", message: "new.example: there is no such name in the DNS" } })
  const answer = (moved: object) =>
    Effect.suspend(() => site.up ? Effect.succeed({ ...documentOf(site.ids), finalUrl: to, ...moved }) : gone)
  web.serve(feed, () => answer(site.permanent ? { permanentUrl: to } : {}))
  web.serve(to, () => answer({}))
  return site
}

const polled = (web: SimulatedWeb["Service"]) => {
  const hosts = { old: lines(web, "poll feeds.example").length, new: lines(web, "poll new.example").length }
  web.log.length = 0
  return hosts
}

describe("permanent redirects", () => {
  it.effect("are learned after three days: polls go to the new URL, once a day to the topic, and subscribers see the topic", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      const site = redirecting(web)
      yield* TestClock.adjust("71 hours")
      assert.strictEqual(polled(web).new, 0)
      yield* TestClock.adjust("2 hours")
      polled(web)
      yield* TestClock.adjust("2 days")
      const hosts = polled(web)
      assert.strictEqual(hosts.old, 2)
      assert.isAbove(hosts.new, 100)
      site.ids = ["b", "first"]
      yield* TestClock.adjust("1 hour")
      const [parcel] = web.parcels
      assert.strictEqual(parcel?.headers.find(([name]) => name === "X-PubSubHubbub-Topic")?.[1], feed)
      assert.match(Buffer.from(parcel?.body ?? []).toString(), /<status feed="http:\/\/feeds\.example\/a"/)
    }).pipe(Effect.provide(layerPartition({ maxResident: 0 }))))

  it.effect("are forgotten at the first failure of the new URL, before the resource is in error", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      const site = redirecting(web)
      yield* TestClock.adjust("4 days")
      site.up = false
      web.serve(feed, () => Effect.succeed(documentOf(["first"])))
      yield* TestClock.adjust("1 hour")
      polled(web)
      const { inError, serverProfile } = yield* loadState(feed)
      assert.deepStrictEqual({ inError, serverProfile }, { inError: false, serverProfile: undefined })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(polled(web).new, 0)
      assert.deepStrictEqual(web.parcels, [])
    }).pipe(Effect.provide(layerPartition({ maxResident: 0 }))))

  it.effect("are followed and not learned while they alternate with temporary ones", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      const site = redirecting(web)
      yield* TestClock.adjust("2 days")
      site.permanent = false
      yield* TestClock.adjust("1 hour")
      assert.isUndefined((yield* loadState(feed)).serverProfile)
      site.permanent = true
      yield* TestClock.adjust("2 days")
      assert.strictEqual(polled(web).new, 0)
    }).pipe(Effect.provide(layerPartition())))

  for (const kind of ["always the same", "ever changing"]) {
    it.effect(`go back to the owner of a topic that was taken over for days, although the other place answers with a document that is ${kind}`, () =>
      Effect.gen(function*() {
        const { web } = yield* watchTopics()
        const site = redirecting(web)
        let count = 0
        if (kind === "ever changing") {
          web.serve(to, () => Effect.sync(() => ({ ...documentOf([`${count++}`, ...site.ids]), finalUrl: to })))
        }
        yield* TestClock.adjust("4 days")
        assert.strictEqual((yield* loadState(feed)).serverProfile?.permanentRedirect?.settled, true)
        web.serve(feed, () => Effect.succeed(documentOf(["own", "first"])))
        yield* TestClock.adjust("25 hours")
        assert.strictEqual(lines(web, "post good.hooks.example/ own").length, 1)
        assert.isUndefined((yield* loadState(feed)).serverProfile)
        polled(web)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(polled(web).new, 0)
      }).pipe(Effect.provide(layerPartition())))
  }

  for (const maxResident of [0, 1000]) {
    it.effect(`outlive the old place, with ${maxResident} actors that rest in memory`, () =>
      Effect.gen(function*() {
        const { web } = yield* watchTopics()
        const site = redirecting(web)
        yield* TestClock.adjust("4 days")
        web.serve(
          feed,
          () => new FetchError({ reason: { _tag: "Dns", message: "there is no such name in the DNS" } })
        )
        polled(web)
        yield* TestClock.adjust("3 days")
        const hosts = polled(web)
        assert.isAtMost(hosts.old, 3)
        assert.isAtLeast(hosts.old, 2)
        assert.isAbove(hosts.new, 200)
        site.ids = ["b", "first"]
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(lines(web, "post").length, 1)
        const { failures, inError } = yield* loadState(feed)
        assert.deepStrictEqual({ failures, inError }, { failures: 0, inError: false })
      }).pipe(Effect.provide(layerPartition({ maxResident }))))
  }
})
