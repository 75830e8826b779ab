import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { PingOutcome } from "#domain/poll/PingOutcome.ts"
import { maxRecentPings, Pings } from "#domain/ports/Pings.ts"
import { farFuture } from "#layers/sql/Values.ts"
import {
  at,
  newAccount,
  newSubscription,
  type Stores,
  subscribe,
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"

/** What every `Pings` keeps of its promises. */
export const pingsSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("Pings", () => {
    it.effect("of one topic through the open hub are listed newest first", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const account = yield* newAccount
        const topic = `https://${unique("host")}.example/feed`
        const ping = (accountId: number | undefined, name: string) =>
          pings.record({ accountId, topic: name, canonical: name, withContent: false }, 10)
        yield* ping(undefined, topic)
        yield* ping(account.id, topic)
        yield* ping(undefined, `${topic}/other`)
        yield* ping(undefined, topic)
        const listed = yield* pings.listOpen(topic, 10)
        assert.deepStrictEqual(listed.map((one) => [one.topic, one.outcome?._tag]), [
          [topic, "NoSubscriber"],
          [topic, "NoSubscriber"]
        ])
        assert.isAtLeast(listed[0]?.receivedAt ?? 0, listed[1]?.receivedAt ?? Infinity)
        assert.strictEqual((yield* pings.listOpen(topic, 1)).length, 1)
      }))

    it.effect("since a time are found by topic, each topic once, among the newest ones", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const account = yield* newAccount
        const topicOf = (name: string) => `https://${unique(name)}.example/feed`
        const old = topicOf("old")
        const first = topicOf("first")
        const second = topicOf("second")
        // Of this test alone: pings of the other tests are older.
        const since = 9_000_000_000_000
        const ping = (time: number, topic: string, accountId?: number) =>
          at(time)(pings.record({ accountId, topic, canonical: undefined, withContent: false }, 10))
        yield* ping(since - 1, old)
        yield* ping(since, first)
        yield* ping(since + 5, second, account.id)
        yield* ping(since + 6, first)
        assert.sameMembers([...(yield* pings.listTopicsSince(since))], [first, second])
        assert.deepStrictEqual(yield* pings.listTopicsSince(since + 6), [first])
        assert.deepStrictEqual(yield* pings.listTopicsSince(since + 7), [])
        yield* Effect.forEach(Array.from({ length: maxRecentPings - 1 }), () => ping(since - 1, old), {
          concurrency: 500,
          discard: true
        })
        assert.deepStrictEqual(yield* pings.listTopicsSince(since), [first])
      }))

    it.effect("are listed newest first, each with its account", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const [one, two] = [yield* newSubscription(), yield* newSubscription()]
        const received = (accountId: number | undefined, topic: string, withContent = false) =>
          pings.record({ accountId, topic, canonical: one.resource.url, withContent }, 10)
        yield* at(1_000)(received(one.account.id, "http://a.example/"))
        yield* at(2_000)(received(two.account.id, "http://a.example/"))
        yield* at(3_000)(received(one.account.id, "http://a.example/b", true))
        yield* at(4_000)(received(undefined, "http://hub.example/"))
        const first = { topic: "http://a.example/", withContent: false, receivedAt: 1_000 }
        const second = { topic: "http://a.example/b", withContent: true, receivedAt: 3_000 }
        assert.deepStrictEqual(yield* pings.list({ accountId: one.account.id, limit: 10 }), [second, first])
        assert.deepStrictEqual(yield* pings.list({ accountId: one.account.id, limit: 1 }), [second])
        const [newest] = yield* pings.list({ limit: 1 })
        assert.deepStrictEqual(newest, { topic: "http://hub.example/", withContent: false, receivedAt: 4_000 })
      }))

    it.effect("are answered together by a fetch that began after them, and once", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const { account, resource } = yield* newSubscription()
        const other = yield* newSubscription()
        const ping = { accountId: account.id, topic: "http://a.example/", withContent: false }
        for (const time of [1_000, 2_000, 4_000]) {
          yield* at(time)(pings.record({ ...ping, canonical: resource.url }, 10))
        }
        yield* at(1_500)(pings.record({ ...ping, canonical: other.resource.url }, 10))
        const answered = (until: number, outcome: PingOutcome) =>
          at(until + 100)(pings.resolve(resource.id, until, outcome))
        yield* answered(3_000, { _tag: "Changed", code: 200, entries: 2 })
        yield* answered(5_000, { _tag: "Failed", code: 0, message: "The name does not resolve." })
        const listed = yield* pings.list({ accountId: account.id, limit: 10 })
        const changed = { outcome: { _tag: "Changed", code: 200, entries: 2 }, answeredAt: 3_100 } as const
        const failed = {
          outcome: { _tag: "Failed", code: 0, message: "The name does not resolve." },
          answeredAt: 5_100
        } as const
        assert.deepStrictEqual(
          listed.toSorted((a, b) => a.receivedAt - b.receivedAt),
          [
            { topic: ping.topic, withContent: false, receivedAt: 1_000, ...changed },
            { topic: ping.topic, withContent: false, receivedAt: 1_500 },
            { topic: ping.topic, withContent: false, receivedAt: 2_000, ...changed },
            { topic: ping.topic, withContent: false, receivedAt: 4_000, ...failed }
          ]
        )
      }))

    it.effect("of one moment take the first of the outcomes of this moment", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const { account, resource } = yield* newSubscription()
        const ping = { accountId: account.id, topic: "http://a.example/", withContent: false, canonical: resource.url }
        for (let n = 0; n < 20; n++) yield* at(1_000)(pings.record(ping, 10))
        yield* pings.resolve(resource.id, 1_000, { _tag: "Changed", code: 200, entries: 1 })
        yield* pings.resolve(resource.id, 1_000, { _tag: "Unchanged", code: 304 })
        const listed = yield* pings.list({ accountId: account.id, limit: 20 })
        assert.deepStrictEqual(listed.map(({ outcome }) => outcome?._tag), listed.map(() => "Changed" as const))
        assert.strictEqual(listed.length, 20)
      }))

    it.effect("wait, each resource once, until they are answered", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const partition = 231 // of this test alone
        const { account, resource } = yield* newSubscription({ partition })
        const ping = { accountId: account.id, topic: "http://a.example/", withContent: false, canonical: resource.url }
        yield* at(1_000)(pings.record(ping, 10))
        yield* at(2_000)(pings.record(ping, 10))
        yield* at(2_000)(pings.record({ ...ping, canonical: undefined }, 10))
        const waiting = [{ partition, resourceId: resource.id }]
        assert.deepStrictEqual(yield* pings.findUnanswered([1, partition], Infinity), waiting)
        assert.deepStrictEqual(yield* pings.findUnanswered([partition], 2_000), waiting)
        assert.deepStrictEqual(yield* pings.findUnanswered([partition], 1_000), [])
        assert.deepStrictEqual(yield* pings.findUnanswered([1], Infinity), [])
        yield* pings.resolve(resource.id, 1_500, { _tag: "Unchanged", code: 200 })
        assert.deepStrictEqual(yield* pings.findUnanswered([partition], Infinity), waiting)
        yield* pings.resolve(resource.id, 2_000, { _tag: "Unchanged", code: 200 })
        assert.deepStrictEqual(yield* pings.findUnanswered([partition], Infinity), [])
      }))

    it.effect("of what nobody watches are answered at once", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const { account, resource } = yield* newSubscription()
        const ping = { accountId: account.id, topic: "http://nobody.example/", withContent: false }
        yield* at(1_000)(pings.record({ ...ping, canonical: undefined }, 10))
        yield* at(1_000)(pings.record({ ...ping, canonical: resource.url }, 10))
        yield* at(2_000)(pings.resolve(resource.id, 2_000, { _tag: "Unchanged", code: 304 }))
        assert.deepStrictEqual((yield* pings.list({ accountId: account.id, limit: 10 })).map((one) => one.outcome), [
          { _tag: "Unchanged", code: 304 },
          { _tag: "NoSubscriber" }
        ])
      }))

    it.effect("return the resources that they reach, and wait for the first watched one", () =>
      Effect.gen(function*() {
        const pings = yield* Pings
        const account = yield* newAccount
        const page = `https://${unique("host")}.example/page`
        const add = (canonical: string, state: "active" | "paused" = "active") =>
          subscribe(wantedBy(account.id, {
            topic: { given: canonical, canonical, host: new URL(page).hostname },
            state,
            channel: state === "paused" ? "xmpp" : "webhook"
          })).pipe(Effect.map(({ resource }) => resource.id))
        const unwatched = yield* add(page, "paused")
        const fragments = [yield* add(`${page}#a`), yield* add(`${page}#b`)] as const
        const topics = [`${page}#b`, page, `${page}#none`, undefined]
        const reached = yield* Effect.forEach(
          topics,
          (canonical, i) => pings.record({ accountId: account.id, topic: `${i}`, canonical, withContent: false }, 10),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(reached, [
          { resource: { id: fragments[1], isWatched: true }, fragments: [] },
          { resource: { id: unwatched, isWatched: false }, fragments: [...fragments] },
          { fragments: [] },
          { fragments: [] }
        ])
        const one = yield* pings.record({ accountId: account.id, topic: "4", canonical: page, withContent: false }, 1)
        assert.deepStrictEqual(one.fragments, fragments.slice(0, 1))
        const other = `${page}/other`
        yield* add(`${other}#a`)
        const itself = yield* add(other)
        yield* pings.record({ accountId: account.id, topic: "5", canonical: other, withContent: false }, 10)
        yield* pings.resolve(itself, farFuture, { _tag: "Failed", code: 500, message: "" })
        yield* at(farFuture)(pings.resolve(fragments[0], farFuture, { _tag: "Unchanged", code: 200 }))
        const listed = yield* pings.list({ accountId: account.id, limit: 10 })
        assert.deepStrictEqual(Object.fromEntries(listed.map(({ outcome, topic }) => [topic, outcome?._tag])), {
          0: undefined,
          1: "Unchanged",
          2: "NoSubscriber",
          3: "NoSubscriber",
          4: "Unchanged",
          5: "Failed"
        })
      }))
  })
}
