import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import * as Resource from "#actors/resource/Resource.ts"
import { type PartitionActors, PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Topic from "#domain/Topic.ts"
import { feed, headers, hook, lines } from "#test/support/HubCalls.ts"
import { layerPartition, loadState, watchTopics } from "#test/support/PartitionActors.ts"
import type { SimulatedWeb } from "#test/support/SimulatedWeb.ts"

const layer = layerPartition({ minPeriodSeconds: 86_400, maxPeriodSeconds: 86_400 })

interface World {
  readonly actors: PartitionActors
  readonly web: SimulatedWeb["Service"]
}

/** Publishes an entry, and lets the service fetch it. */
const publish = Effect.fnUntraced(function*({ actors, web }: World, ...ids: ReadonlyArray<string>) {
  web.publish(feed, [...ids, "first"])
  yield* actors.resources.tell((yield* loadState(feed)).id, Resource.ping)
  yield* TestClock.adjust("61 seconds")
})

/** A partition with a subscription of the callback `good`, and one of `bad`, which answers as `answer.status` tells. */
const failing = Effect.fnUntraced(function*(change: Partial<NewSubscription> = {}) {
  const world = yield* watchTopics()
  const topic = Result.getOrThrow(Topic.parse(feed))
  yield* (yield* SubscriptionStore).subscribe({
    accountId: 1,
    topic,
    partition: Topic.partitionOf(topic.host),
    channel: "webhook",
    endpoint: hook("bad"),
    host: "bad.hooks.example",
    face: "api",
    state: "active",
    ...change
  })
  const answer = { status: 500 }
  world.web.answer(hook("bad"), () => Effect.sync(() => answer.status))
  yield* publish(world)
  world.web.log.length = 0
  return { ...world, answer }
})

const list = (counted: boolean) =>
  SubscriptionStore.use((store) => store.list({ accountId: 1, page: 1, byPage: 10, counted }))

/** The subscription of the callback with this name, with the number of its deliveries. */
const stored = Effect.fnUntraced(function*(name: string) {
  const item = (yield* list(true)).items.find(({ subscription }) => subscription.endpoint === hook(name))
  return item ?? assert.fail(`no subscription of ${name}`)
})

/** All events with their times, epoch ms. */
const events = EventLog.use((log) =>
  Effect.map(log.readAfter(1, 0, 100), (all) => all.map(({ at, event }) => [at, event] as const))
)

/** Times of the lines of a log, in seconds after the first one. */
const timesOf = (log: ReadonlyArray<string>): ReadonlyArray<number> => {
  const times = log.map((line) => Number.parseFloat(line))
  return times.map((time) => time - (times[0] ?? 0))
}

const hours = (...all: ReadonlyArray<number>) => all.map((hour) => hour * 3_600)

describe("a callback that fails for long", () => {
  it.effect("is tried for three days, and the notifications behind wait for one delivery, then flow in order", () =>
    Effect.gen(function*() {
      const world = yield* failing()
      const { answer, web } = world
      yield* publish(world, "a")
      const ids = Array.from({ length: 100 }, (_, i) => `n${i}`)
      for (const [i] of ids.entries()) yield* publish(world, ...ids.slice(0, i + 1).toReversed(), "a")
      yield* TestClock.adjust("30 hours")
      const failed = lines(web, "post bad")
      assert.deepStrictEqual(timesOf(failed).slice(0, 7), [0, 5, 15, 30, 90, 390, 1_290])
      assert.strictEqual(failed.length, 11) // 1 h, 3 h, 6 h and 12 h later
      assert.isTrue(failed.every((line) => line.includes("/ a try ")))
      const expected = lines(web, "post good").map((line) => line.split(" ")[3])
      assert.isAbove(expected.length, 64) // more than the memory of the subscription holds
      answer.status = 200
      yield* TestClock.adjust("12 hours")
      const sent = lines(web, "post bad").slice(failed.length)
      assert.deepStrictEqual(sent.map((line) => line.split(" ")[3]), expected)
      const sequences = [...headers(web, "bad", "X-Windhover-Sequence")].slice(failed.length)
      assert.deepStrictEqual(sequences, expected.map((_, i) => String(i + 1)))
    }).pipe(Effect.provide(layer)))

  it.effect("is marked by its first failure, and unmarked by its next success", () =>
    Effect.gen(function*() {
      const world = yield* failing()
      const { answer } = world
      assert.strictEqual((yield* stored("bad")).subscription.failing, undefined)
      yield* publish(world, "a")
      const first = (yield* stored("bad")).subscription.failing ?? assert.fail("not failing")
      assert.deepStrictEqual(first, { since: 61_000, announced: 0 })
      yield* TestClock.adjust("58 minutes")
      assert.deepStrictEqual((yield* stored("bad")).subscription.failing, first)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual((yield* stored("bad")).subscription.failing, { ...first, announced: 1 })
      yield* TestClock.adjust("23 hours")
      assert.deepStrictEqual((yield* stored("bad")).subscription.failing, { ...first, announced: 2 })
      answer.status = 200
      yield* TestClock.adjust("12 hours")
      assert.strictEqual((yield* stored("bad")).subscription.failing, undefined)
      const { subscription: { id } } = yield* stored("bad")
      const named = { accountId: 1, subscriptionId: id, topic: feed, endpoint: hook("bad"), failingSince: 61_000 }
      const failed = { code: 500, message: "The callback answered 500." }
      assert.deepStrictEqual(yield* events, [
        [3_661_000, { type: "subscription.failing", ...named, ...failed, hours: 1 }],
        [86_461_000, { type: "subscription.failing", ...named, ...failed, hours: 24 }],
        [61_000 + 123_690_000, { type: "subscription.recovered", ...named }]
      ])
    }).pipe(Effect.provide(layer)))

  it.effect("drops a notification after three days, and probes with the next one 12 h later", () =>
    Effect.gen(function*() {
      const world = yield* failing()
      const { web } = world
      yield* publish(world, "a")
      yield* TestClock.adjust("60 hours")
      for (const [i] of [..."bcde"].entries()) yield* publish(world, ...[..."bcde"].slice(0, i + 1).toReversed(), "a")
      const before = lines(web, "post bad").length
      yield* TestClock.adjust("48 hours")
      const after = lines(web, "post bad").slice(before).map((line) => line.split(" ").slice(3).join(" "))
      assert.deepStrictEqual(after, ["a try 14", "b try 0", "b try 1", "b try 2"])
      const [last = 0, ...probes] = timesOf(lines(web, "post bad").slice(before))
      assert.deepStrictEqual(probes.map((time) => time - last), hours(12, 24, 36))
    }).pipe(Effect.provide(layer)))

  it.effect("is paused after five days, with a last attempt; nothing is sent, and nothing is lost", () =>
    Effect.gen(function*() {
      const world = yield* failing()
      const { web } = world
      yield* publish(world, "a")
      yield* TestClock.adjust("119 hours")
      assert.strictEqual((yield* stored("bad")).subscription.state, "active")
      yield* publish(world, "b", "a")
      yield* TestClock.adjust("2 hours")
      assert.strictEqual((yield* stored("bad")).subscription.state, "paused")
      assert.deepStrictEqual((yield* events).map(([at, event]) => [at, event.type]), [
        [3_661_000, "subscription.failing"],
        [86_461_000, "subscription.failing"],
        [61_000 + 5 * 86_400_000, "subscription.paused"]
      ])
      assert.strictEqual((yield* stored("good")).subscription.state, "active")
      const posts = lines(web, "post bad").length
      yield* publish(world, "c", "b", "a")
      yield* TestClock.adjust("100 hours")
      assert.strictEqual(lines(web, "post bad").length, posts)
      assert.deepStrictEqual(lines(web, "post good").map((line) => line.split(" ")[3]), ["a", "b", "c"])
      assert.deepStrictEqual((yield* stored("bad")).deliveries, { waiting: 1, dropped: 2 }) // a has waited for three days, c came during the pause
    }).pipe(Effect.provide(layer)))

  it.effect("with the short retries drops each notification after 30 s, and is paused after five days as well", () =>
    Effect.gen(function*() {
      const world = yield* failing({ retry: "short" })
      const { web } = world
      const posts = ["a", "b"].flatMap((id) => [0, 1, 2, 3].map((attempt) => `${id} try ${attempt}`))
      const sent = () => lines(web, "post bad").map((line) => line.split(" ").slice(3).join(" "))
      yield* publish(world, "a")
      yield* TestClock.adjust("1 minute")
      yield* publish(world, "b", "a")
      yield* TestClock.adjust("121 hours")
      assert.deepStrictEqual(sent(), posts)
      assert.strictEqual((yield* stored("bad")).subscription.state, "active")
      yield* publish(world, "c", "b", "a")
      assert.strictEqual((yield* stored("bad")).subscription.state, "paused")
      assert.deepStrictEqual(sent(), [...posts, "c try 0"])
    }).pipe(Effect.provide(layer)))

  it.effect("is not paused for an outage of the service", () =>
    Effect.gen(function*() {
      const world = yield* failing()
      yield* publish(world, "a")
      yield* world.actors.subscriptions.drain
      yield* TestClock.adjust("6 days")
      const { partition } = yield* loadState(feed)
      yield* PartitionStarter.use((starter) => starter.start(partition))
      yield* TestClock.adjust("10 minutes")
      const { subscription } = yield* stored("bad")
      assert.strictEqual(subscription.state, "active")
      assert.isAbove(subscription.failing?.since ?? 0, 6 * 86_400_000)
    }).pipe(Effect.provide(layer)))
})
