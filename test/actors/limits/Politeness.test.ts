import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import { ping } from "#actors/resource/Resource.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Topic from "#domain/Topic.ts"
import { hook } from "#test/support/HubCalls.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import { documentOf, statusOnly } from "#test/support/SimulatedWeb.ts"

const topics = (count: number) => Array.from({ length: count }, (_, i) => `http://busy.example/${i}`)

/** A host with `count` topics. `during` returns the topics that are fetched in that time, with the ms since its start. */
const host = Effect.fnUntraced(function*(count: number) {
  const { actors, web } = yield* watchTopics(...topics(count))
  const server: { answer: () => Fetched; fetches: Array<readonly [topic: number, at: number]> } = {
    answer: () => documentOf(["first"]),
    fetches: []
  }
  topics(count).forEach((topic, i) =>
    web.serve(topic, () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        server.fetches.push([i, now])
        return server.answer()
      }))
  )
  return {
    server,
    serve: (topic: string, answer: () => Fetched) => web.serve(topic, () => Effect.sync(answer)),
    pingAll: Effect.forEach(
      topics(count),
      (topic) => Effect.flatMap(loadState(topic), ({ id }) => actors.resources.tell(id, ping)),
      { discard: true }
    ),
    /** Watches one more topic. */
    watch: Effect.fnUntraced(function*(given: string, face: "api" | "hub" = "api") {
      const topic = yield* Effect.fromResult(Topic.parse(given))
      const { resource } = yield* (yield* SubscriptionStore).subscribe({
        accountId: face === "api" ? 1 : 0,
        topic,
        partition: Topic.partitionOf(topic.host),
        channel: "webhook",
        endpoint: hook("good"),
        host: "good.hooks.example",
        face,
        state: "active"
      })
      yield* actors.resources.tell(resource.id, ping)
    }),
    during: Effect.fnUntraced(function*(time: number) {
      const from = yield* Clock.currentTimeMillis
      server.fetches.length = 0
      yield* TestClock.adjust(time)
      return server.fetches.map(([topic, at]) => [topic, at - from] as const)
    })
  }
})

const minute = 60_000

describe("a host", () => {
  it.effect("with many resources is fetched ten times at once, then twenty times a second", () =>
    Effect.gen(function*() {
      const { during, pingAll } = yield* host(50)
      yield* during(minute / 2)
      yield* pingAll
      const times = (yield* during(minute / 4)).map(([, at]) => at)
      assert.deepStrictEqual(times, [
        ...Array.from({ length: 10 }, () => 0),
        ...Array.from({ length: 40 }, (_, i) => 50 * (i + 1))
      ])
    }).pipe(Effect.provide(layerPartition())))

  it.effect("is paused for all its resources when two of them are refused, and their fetches are spread afterwards", () =>
    Effect.gen(function*() {
      const { during, server } = yield* host(50)
      yield* during(minute - 1_000)
      server.answer = () => statusOnly(429, { "retry-after": "600" })
      // the first refusal pauses the host for a minute, the second one for the time that the first one asked for
      assert.deepStrictEqual((yield* during(minute + 2_000)).map(([topic]) => topic), [0, 1])
      server.answer = () => documentOf(["first"])
      assert.deepStrictEqual(yield* during(9 * minute - 2_000), [])
      const after = yield* during(minute + 6_000)
      assert.strictEqual(new Set(after.map(([topic]) => topic)).size, 50)
      for (let second = 0; second < minute + 6_000; second += 1_000) {
        assert.isAtMost(after.filter(([, at]) => at >= second && at < second + 1_000).length, 30)
      }
    }).pipe(Effect.provide(layerPartition())))

  it.effect("postpones its resources during a pause, and their rows name the next fetch", () =>
    Effect.gen(function*() {
      const { during, server } = yield* host(50)
      yield* during(minute - 1_000)
      server.answer = () => statusOnly(503, { "retry-after": "600" })
      yield* during(minute + 10_000)
      const now = yield* Clock.currentTimeMillis
      const next = yield* Effect.forEach(
        topics(50),
        (topic) => Effect.map(loadState(topic), ({ nextFetch }) => nextFetch)
      )
      assert.isAbove(Math.min(...next), now + 8 * minute)
      assert.isBelow(Math.max(...next), now + 11 * minute)
    }).pipe(Effect.provide(layerPartition())))

  it.effect("stays paused after a restart of the partition", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const { during, server } = yield* Scope.provide(host(2), scope)
      yield* during(minute - 1_000)
      server.answer = () => statusOnly(429, { "retry-after": "600" })
      yield* during(minute + 2_000)
      yield* Scope.close(scope, Exit.void)
      server.answer = () => documentOf(["first"])
      const { resources } = yield* (yield* PartitionStarter).start(Topic.partitionOf("busy.example"))
      for (const topic of topics(2)) yield* resources.tell((yield* loadState(topic)).id, ping)
      assert.deepStrictEqual(yield* during(9 * minute - 2_000), [])
      assert.sameMembers((yield* during(2 * minute)).map(([topic]) => topic).slice(0, 2), [0, 1])
    }).pipe(Effect.provide(layerPartition())))

  it.effect("pauses for strangers alone when a topic that only strangers watch is refused", () =>
    Effect.gen(function*() {
      const { during, serve, watch } = yield* host(1)
      yield* during(minute - 1_000)
      serve("http://busy.example/stranger", () => statusOnly(429, { "retry-after": "3600" }))
      yield* watch("http://busy.example/stranger", "hub")
      const accounts = (yield* during(4_000)).map(([topic]) => topic)
      assert.deepStrictEqual(accounts, [0])
    }).pipe(Effect.provide(layerPartition())))

  it.effect("pauses for a minute in an hour when one resource alone is refused, and the resource for the time that was asked", () =>
    Effect.gen(function*() {
      const { during, serve, watch } = yield* host(1)
      yield* during(minute / 2)
      let refusals = 0
      const refused = "http://busy.example/refused"
      serve(refused, () => {
        refusals++
        return statusOnly(429, { "retry-after": "600" })
      })
      yield* watch(refused)
      yield* during(1_000)
      assert.strictEqual(refusals, 1)
      // a ping does not hasten the refused resource
      yield* watch(refused)
      const others = yield* during(10 * minute - 2_000)
      assert.strictEqual(refusals, 1)
      assert.strictEqual(others.length, 4)
      assert.isAtLeast(others[0]?.[1] ?? 0, minute - 1_000)
      yield* during(10_000)
      assert.strictEqual(refusals, 2)
      // the second refusal of the same resource pauses nothing
      yield* watch("http://busy.example/other")
      const { lastFetch } = yield* loadState("http://busy.example/other")
      yield* during(1_000)
      assert.isUndefined(lastFetch)
      assert.isNumber((yield* loadState("http://busy.example/other")).lastFetch)
    }).pipe(Effect.provide(layerPartition())))

  it.effect("is named as the reason when a pause delays the first document of a resource", () =>
    Effect.gen(function*() {
      const { during, server, watch } = yield* host(1)
      yield* during(minute - 1_000)
      server.answer = () => statusOnly(429, { "retry-after": "600" })
      yield* during(4_000)
      const topic = "http://busy.example/new"
      yield* watch(topic)
      yield* during(1_000)
      const { http = "", lastFetch, nextFetch } = yield* loadState(topic)
      assert.match(
        http,
        /^Not fetched yet: busy\.example asked to be left alone until 1970-01-01T00:\d\d:\d\d\.\d{3}Z$/
      )
      assert.strictEqual(http.endsWith(new Date(nextFetch).toISOString()), true)
      assert.strictEqual(lastFetch, undefined)
    }).pipe(Effect.provide(layerPartition())))

  const pauses: ReadonlyArray<readonly [name: string, answer: Fetched, seconds: number]> = [
    ["429 alone", statusOnly(429), 60],
    ["429 with seconds", statusOnly(429, { "retry-after": "120" }), 120],
    ["429 with a date", statusOnly(429, { "retry-after": "Thu, 01 Jan 1970 00:05:00 GMT" }), 240],
    ["429 with zero", statusOnly(429, { "retry-after": "0" }), 0],
    ["429 with nonsense", statusOnly(429, { "retry-after": "soon" }), 60],
    ["429 with a week", statusOnly(429, { "retry-after": "604800" }), 86_400],
    ["503 with seconds", statusOnly(503, { "retry-after": "120" }), 120],
    ["503 alone, perhaps about one document", statusOnly(503), 0],
    ["403 with Retry-After", statusOnly(403, { "retry-after": "120" }), 120],
    ["403 of an exhausted limit", statusOnly(403, { "x-ratelimit-remaining": "0" }), 60],
    [
      "403 with the end of the limit in seconds",
      statusOnly(403, { "ratelimit-remaining": "0", "ratelimit-reset": "90" }),
      90
    ],
    [
      "403 with the end of the limit as a date",
      statusOnly(403, {
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": "4102444800"
      }),
      86_400
    ],
    ["403 alone, about the document", statusOnly(403), 0]
  ]

  for (const [name, answer, seconds] of pauses) {
    const pause = Math.min(seconds, 60)
    it.effect(`that answers ${name} to one resource leaves it alone for ${seconds} s, and the host for ${pause} s`, () =>
      Effect.gen(function*() {
        const { during, server } = yield* host(2)
        const ok = server.answer
        yield* during(minute / 2)
        server.answer = () => answer
        const refused = yield* during(minute / 2 + 75)
        assert.deepStrictEqual(refused.map(([topic]) => topic), seconds > 0 ? [0] : [0, 1])
        server.answer = ok
        const next = yield* during(25 * 60 * minute)
        const nextOf = (wanted: number) => next.find(([topic]) => topic === wanted)?.[1] ?? 0
        const isSoon = (at: number, from: number) => at >= from - 75 && at <= from
        // 0 is refused first; without a pause both are polled again after a minute
        assert.isTrue(isSoon(nextOf(0), Math.max(seconds, 60) * 1000), String(nextOf(0)))
        assert.isTrue(isSoon(nextOf(1), seconds > 0 ? pause * 1000 : minute), String(nextOf(1)))
      }).pipe(Effect.provide(layerPartition())))
  }
})
