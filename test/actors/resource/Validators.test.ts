import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { FetchError } from "#domain/ports/Fetcher.ts"
import { feed, lines } from "#test/support/HubCalls.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import { documentOf, type SimulatedWeb, statusOnly } from "#test/support/SimulatedWeb.ts"

/** A server with these ids and this ETag; it answers 304 to conditions that `same` takes for those of its document. */
const conditional = (web: SimulatedWeb["Service"], same: (etag: string) => boolean) => {
  const server = { ids: ["first"], etag: "\"1\"", requests: new Array<string>() }
  web.serve(feed, ({ etag }) =>
    Effect.sync(() => {
      server.requests.push(etag ?? "whole")
      return etag !== undefined && same(etag)
        ? statusOnly(304)
        : { ...documentOf(server.ids), headers: { etag: server.etag } }
    }))
  return server
}

/** As far as the next fetch of the feed. */
const nextFetch = Effect.gen(function*() {
  const { nextFetch } = yield* loadState(feed)
  yield* TestClock.adjust(nextFetch - (yield* Clock.currentTimeMillis))
})

describe("validators", () => {
  it.effect("are omitted once a day, also after the actor was passive", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      const server = conditional(web, (etag) => etag === server.etag)
      yield* TestClock.adjust("12 hours")
      Object.assign(server, { ids: ["b", "first"], etag: "\"2\"" }) // so that this day does not end with that of the maintenance
      yield* TestClock.adjust("6 hours")
      server.requests.length = 0
      for (let day = 0; day < 3; day++) {
        yield* TestClock.adjust("1 day")
        assert.strictEqual(server.requests.filter((etag) => etag === "whole").length, 1)
        assert.strictEqual(server.requests.filter((etag) => etag === "\"2\"").length, server.requests.length - 1)
        server.requests.length = 0
      }
    }).pipe(Effect.provide(layerPartition({ maxResident: 0 }))))

  it.effect("are dropped when the daily unconditional fetch disproves a server's 304", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      const server = conditional(web, () => true)
      yield* TestClock.adjust("1 hour")
      Object.assign(server, { ids: ["b", "first"], etag: "\"2\"" })
      yield* TestClock.adjust("22 hours")
      assert.deepStrictEqual(lines(web, "post"), [])
      yield* TestClock.adjust("2 hours")
      assert.strictEqual(lines(web, "post good.hooks.example/ b").length, 1)
      Object.assign(server, { ids: ["c", "b", "first"], etag: "\"3\"" })
      server.requests.length = 0
      yield* TestClock.adjust("2 days")
      assert.strictEqual(lines(web, "post good.hooks.example/ c").length, 1)
      assert.deepStrictEqual([...new Set(server.requests)], ["whole"])
      const { etag, serverProfile } = yield* loadState(feed)
      assert.deepStrictEqual([etag, serverProfile?.validatorTrust], [undefined, "lying"])
    }).pipe(Effect.provide(layerPartition({ maxResident: 0 }))))

  for (const mended of [true, false]) {
    it.effect(`are tried again a week after, with the next news: the server ${mended ? "was mended" : "lies still"}`, () =>
      Effect.gen(function*() {
        const { web } = yield* watchTopics()
        let lies = true
        const server = conditional(web, (etag) => lies || etag === server.etag)
        yield* TestClock.adjust("1 hour")
        Object.assign(server, { ids: ["b", "first"], etag: "\"2\"" })
        yield* TestClock.adjust("2 days")
        const { caughtLyingAt = assert.fail("not caught") } = (yield* loadState(feed)).serverProfile ?? {}
        lies = !mended
        Object.assign(server, { ids: ["c", "b", "first"], etag: "\"3\"", requests: [] })
        yield* TestClock.adjust(caughtLyingAt + 7 * 86_400_000 - (yield* Clock.currentTimeMillis) - 1)
        assert.deepStrictEqual((yield* loadState(feed)).serverProfile, { validatorTrust: "lying", caughtLyingAt })
        yield* TestClock.adjust("1 day")
        assert.deepStrictEqual((yield* loadState(feed)).serverProfile, { validatorTrust: "trial", caughtLyingAt })
        assert.deepStrictEqual([...new Set(server.requests)], ["whole"])
        Object.assign(server, { ids: ["d", "c", "b", "first"], etag: "\"4\"", requests: [] })
        yield* nextFetch
        assert.strictEqual(lines(web, "post good.hooks.example/ d").length, 1)
        for (let i = 0; i < 3; i++) yield* nextFetch
        const { etag, serverProfile } = yield* loadState(feed)
        if (mended) {
          assert.deepStrictEqual(server.requests, ["whole", "\"3\"", "\"4\"", "\"4\""])
          assert.deepStrictEqual([etag, serverProfile], ["\"4\"", undefined])
        } else {
          assert.deepStrictEqual(server.requests, ["whole", "\"3\"", "whole", "whole"])
          assert.isAbove(serverProfile?.caughtLyingAt ?? 0, caughtLyingAt)
          assert.strictEqual(serverProfile?.validatorTrust, "lying")
        }
      }).pipe(Effect.provide(layerPartition({ minPeriodSeconds: 3_600, maxPeriodSeconds: 3_600 }))))
  }

  it.effect.each([
    { status: 400, sent: 1 },
    { status: 412, sent: 1 },
    { status: 501, sent: 1 },
    { status: 403, sent: 2 },
    { status: 500, sent: 2 },
    { status: "connection closed", sent: 2 }
  ])(
    "that a server refuses with $status are sent $sent times, and no subscriber notices",
    ({ sent, status }) =>
      Effect.gen(function*() {
        const { web } = yield* watchTopics()
        const server = { ids: ["first"], requests: new Array<string>() }
        web.serve(feed, ({ etag }) =>
          Effect.suspend(() => {
            server.requests.push(etag ?? "whole")
            if (etag === undefined) {
              return Effect.succeed({ ...documentOf(server.ids), headers: { etag: `"${server.ids.length}"` } })
            }
            return typeof status === "number"
              ? Effect.succeed(statusOnly(status))
              : Effect.fail(new FetchError({ reason: { _tag: "Protocol", message: status } }))
          }))
        yield* TestClock.adjust("30 minutes")
        server.ids = ["b", "first"]
        yield* TestClock.adjust("2 days")
        assert.deepStrictEqual(lines(web, "post").length, 1)
        assert.strictEqual(lines(web, "post good.hooks.example/ b").length, 1)
        assert.deepStrictEqual(
          server.requests.filter((etag) => etag !== "whole"),
          Array.from({ length: sent }, () => "\"1\"")
        )
        const { etag, failures, serverProfile } = yield* loadState(feed)
        assert.deepStrictEqual([etag, failures, serverProfile?.validatorTrust], [undefined, 0, "lying"])
      }).pipe(Effect.provide(layerPartition({ maxResident: 0 })))
  )

  it.effect.each([
    { status: 500, requests: ["\"1\"", "whole", "whole", "whole", "\"1\""] },
    { status: 503, requests: ["\"1\"", "whole", "whole", "\"1\""] }
  ])("are left out after a failure with $status, until a success", ({ requests, status }) =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      const server = conditional(web, () => true)
      yield* TestClock.adjust("1 hour")
      server.requests.length = 0
      let failing = 2
      web.serve(feed, ({ etag }) =>
        Effect.sync(() => {
          server.requests.push(etag ?? "whole")
          if (failing > 0 && (etag === undefined || failing === 2)) {
            if (etag === undefined || status === 503) failing--
            return statusOnly(status)
          }
          return etag === undefined ? { ...documentOf(server.ids), headers: { etag: server.etag } } : statusOnly(304)
        }))
      for (let i = 0; i < 4; i++) yield* nextFetch
      assert.deepStrictEqual(server.requests.slice(0, requests.length), requests)
      assert.isUndefined((yield* loadState(feed)).serverProfile)
    }).pipe(Effect.provide(layerPartition({ maxResident: 0 }))))

  it.effect("stay when an honest server publishes just before the daily unconditional fetch", () =>
    Effect.gen(function*() {
      const { web } = yield* watchTopics()
      const server = conditional(web, (etag) => etag === server.etag)
      yield* TestClock.adjust(1)
      while ((yield* loadState(feed)).nextFetch < 86_400_000) yield* nextFetch
      Object.assign(server, { ids: ["b", "first"], etag: "\"2\"" })
      yield* nextFetch
      assert.strictEqual(lines(web, "post good.hooks.example/ b").length, 1)
      assert.deepStrictEqual((yield* loadState(feed)).serverProfile, { validatorTrust: "suspect" })
      yield* nextFetch
      yield* nextFetch
      assert.deepStrictEqual(server.requests.slice(-3), ["whole", "\"1\"", "\"2\""])
      assert.isUndefined((yield* loadState(feed)).serverProfile)
    }).pipe(Effect.provide(layerPartition())))

  for (const pushed of [["pushed"], ["first"]]) {
    it.effect(`of a server that says 304 whatever it has are found out although its hub pushes ${pushed.join()}`, () =>
      Effect.gen(function*() {
        const { actors, web } = yield* watchTopics()
        const server = conditional(web, () => true)
        yield* TestClock.adjust("22 hours")
        Object.assign(server, { ids: ["b", "first"], etag: "\"2\"" })
        const { id } = yield* loadState(feed)
        for (let hour = 22; hour < 30; hour += 0.25) {
          const document = { contentType: "application/json", body: documentOf(pushed).body }
          if ((yield* loadState(feed)).etag === "\"1\"") {
            yield* actors.resources.tell(id, {
              _tag: "Push",
              document,
              byHub: false,
              done: yield* Deferred.make<boolean>()
            })
          }
          yield* TestClock.adjust("15 minutes")
        }
        assert.strictEqual(lines(web, "post good.hooks.example/ b").length, 1)
        assert.strictEqual((yield* loadState(feed)).serverProfile?.validatorTrust, "lying")
      }).pipe(Effect.provide(layerPartition())))
  }

  it.effect("stay doubtful when a hub pushes known content", () =>
    Effect.gen(function*() {
      const { actors, web } = yield* watchTopics()
      const server = conditional(web, (etag) => etag === server.etag)
      yield* TestClock.adjust(1)
      while ((yield* loadState(feed)).nextFetch < 86_400_000) yield* nextFetch
      Object.assign(server, { ids: ["b", "first"], etag: "\"2\"" })
      yield* nextFetch
      const { id, serverProfile } = yield* loadState(feed)
      assert.deepStrictEqual(serverProfile, { validatorTrust: "suspect" })
      const document = { contentType: "application/json", body: documentOf(server.ids).body }
      yield* actors.resources.tell(id, { _tag: "Push", document, byHub: false, done: yield* Deferred.make<boolean>() })
      yield* TestClock.adjust(1)
      const after = yield* loadState(feed)
      assert.deepStrictEqual([after.serverProfile, after.etag], [{ validatorTrust: "suspect" }, "\"1\""])
    }).pipe(Effect.provide(layerPartition())))
})
