import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { maxStoredLength, type PollWrite, ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { resourceProfileOf, type ResourceState, statusOf } from "#domain/poll/Resource.ts"
import {
  at,
  entry,
  found,
  idsOf,
  newAccount,
  newSubscription,
  record,
  type Stores,
  subscribe,
  unchanged,
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"

/** What every `ResourceStore` keeps of its promises. */
export const resourceStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("ResourceStore", () => {
    states(it)
    alarms(it)
    touching(it)
    announcing(it)
    crediting(it)
    bounds(it)
  })
}

const full = (state: ResourceState): ResourceState => ({
  ...state,
  nextFetch: 1_700_000_900_123,
  lastFetch: 1_700_000_000_123,
  period: 1234,
  code: 200,
  failures: 2,
  kind: "feed",
  http: "Fetched (ring) 200 900 and parsed 1/30 entries",
  lastParse: 1_700_000_000_456,
  etag: "W/\"a'b\\c\"",
  lastModified: "Tue, 14 Nov 2023 22:13:20 GMT",
  lastUnconditionalFetch: 1_699_999_000_001,
  serverProfile: {
    validatorTrust: "suspect",
    permanentRedirect: { to: "https://new.example/", since: 1_699_000_000_000, settled: true }
  },
  signature: 2n ** 64n - 1n,
  inError: true,
  header: { title: { value: "A \u{1f985} \"title\" \u0000 \ud800", type: "text" }, updated: 0 },
  seen: Uint8Array.from({ length: 4096 }, (_, i) => i & 255),
  slices: Uint8Array.of(0, 1, 255),
  idPolicy: { version: 2, by: ["link", "title"] },
  generatedIds: true,
  entriesSinceMaintenance: 17,
  lastMaintenanceAt: 1_690_000_000_000,
  velocity: 12.5,
  popularity: 0.25,
  pornRank: 0.1,
  bozoRank: 1,
  subscribers: 1
})

const states = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("gives back every field of a recorded state, by id and by canonical topic", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription()
      const wanted = full(resource)
      assert.deepStrictEqual(yield* record(unchanged(wanted)), [])
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(wanted))
      assert.deepStrictEqual(yield* store.find(resource.url), Option.some(wanted))
    }))

  it.effect("shows a subscriber what is told of a topic, in the format of its oldest subscription", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { account, resource } = yield* newSubscription({ format: "json" })
      const topic = { given: resource.url, canonical: resource.url, host: resource.host }
      yield* subscribe(wantedBy(account.id, { topic, endpoint: "https://other.example/", format: "atom" }))
      const wanted = full(resource)
      yield* record(unchanged(wanted))
      const resourceSeen = resourceProfileOf(wanted)
      assert.deepStrictEqual(
        yield* store.findSubscribed(account.id, resource.url, 0),
        Option.some({ resource: resourceSeen, format: "json" as const, newest: [] })
      )
      const other = yield* newAccount
      assert.deepStrictEqual(yield* store.findSubscribed(other.id, resource.url, 0), Option.none())
      yield* subscribe(wantedBy(other.id, { topic, state: "paused" }))
      assert.deepStrictEqual(
        yield* store.findSubscribed(other.id, resource.url, 0),
        Option.some({ resource: resourceSeen, newest: [] })
      )
      assert.deepStrictEqual(yield* store.findSubscribed(account.id, `${resource.url}\u0000`, 0), Option.none())
    }))

  it.effect("shows a subscriber the newest entries of a topic, and at once what was recorded last", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { account, resource } = yield* newSubscription()
      const { resource: other } = yield* subscribe(wantedBy(account.id))
      const [old, undated, latest, stranger] = [
        entry("old", { published: 1_000, title: { value: "A \u{1f985}, [\"quoted\"]\n\u0000 \ud800", type: "text" } }),
        entry("undated"),
        entry("latest", { published: 4_000_000_000_000 }),
        entry("of another resource")
      ]
      const newestOf = ({ url }: ResourceState, count: number) =>
        Effect.map(store.findSubscribed(account.id, url, count), (found) => Option.getOrUndefined(found)?.newest)
      yield* record(found(resource, [latest, old, undated]))
      const reads = [newestOf(resource, 10), newestOf(resource, 2), newestOf(resource, 0), newestOf(other, 10)]
      const read = Effect.all(reads, { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* read, [[latest, undated, old], [latest, undated], [], []])
      const changed = entry("latest", { published: 4_000_000_000_000, title: { value: "Changed", type: "text" } })
      yield* record({ ...unchanged(resource), updated: [changed] })
      yield* record(found(other, [stranger]))
      assert.deepStrictEqual(yield* read, [[changed, undated, old], [changed, undated], [], [stranger]])
    }))

  it.effect("forgets the fields that the next state has no more", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription()
      yield* record(unchanged(full(resource)))
      yield* record(unchanged(resource))
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(resource))
    }))

  it.effect("does not let a state move a resource to another topic or partition", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription()
      yield* record(unchanged({ ...resource, url: "https://other.example/", host: "other.example", partition: 9 }))
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(resource))
    }))

  it.effect("finds nothing for a topic or an id that nobody subscribed to", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      assert.deepStrictEqual(yield* store.find("https://nobody.example/"), Option.none())
      assert.deepStrictEqual(yield* store.find("https://nobody.example/\u0000"), Option.none())
      assert.deepStrictEqual(yield* store.load(2 ** 40), Option.none())
    }))

  it.effect("gives the resource of a pinged page with its watched fragments, and no other", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const account = yield* newAccount
      const page = `https://${unique("host")}.example/p_ge`
      const add = (url: string, state: "active" | "paused" = "active") =>
        Effect.map(
          subscribe(
            wantedBy(account.id, {
              topic: { given: url, canonical: url, host: new URL(url).hostname },
              state,
              channel: state === "paused" ? "xmpp" : "webhook"
            })
          ),
          ({ resource }) => resource.id
        )
      const itself = yield* add(page)
      const first = yield* add(`${page}#p`)
      const second = yield* add(`${page}#div%23x`)
      const paused = yield* add(`${page}#unwatched`, "paused")
      yield* add(`${page}/#p`)
      yield* add(`${page.replace("p_ge", "page")}#p`)
      const pings = [
        [page, 10],
        [page, 1],
        [`${page}#p`, 10],
        [`${page}#unwatched`, 10],
        [`${page}#none`, 10],
        ["https://nobody.example/\u0000", 10]
      ] as const
      const reached = yield* Effect.forEach(pings, ([topic, max]) => store.findPinged(topic, max), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(reached, [
        { resource: { id: itself, isWatched: true }, fragments: [first, second] },
        { resource: { id: itself, isWatched: true }, fragments: [first] },
        { resource: { id: first, isWatched: true }, fragments: [] },
        { resource: { id: paused, isWatched: false }, fragments: [] },
        { fragments: [] },
        { fragments: [] }
      ])
    }))

  it.effect("answers many loads at once, each with its own", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const account = yield* newAccount
      const made = yield* Effect.forEach(
        Array.from({ length: 50 }),
        () => subscribe(wantedBy(account.id)),
        { concurrency: 10 }
      )
      const loaded = yield* Effect.forEach(made, ({ resource }) => store.load(resource.id), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(
        loaded.map((state) => Option.getOrThrow(state).url),
        made.map(({ resource }) => resource.url)
      )
    }))

  it.effect("writes nothing for an id that is not stored", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const change = found({ ...resource, id: 2 ** 40 }, [entry("a")])
      assert.deepStrictEqual(yield* record(change), [])
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [2 ** 40], count: 10 }))
      assert.deepStrictEqual(page, { _tag: "Page", entries: [] })
    }))

  it.effect("counts the subscribers that are active and whose lease has not ended", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const { resource } = yield* subscribe(wanted)
      yield* subscribe({ ...wanted, endpoint: "https://b.example/", state: "pending" })
      yield* subscribe({ ...wanted, endpoint: "ann@c.example", channel: "xmpp", state: "paused" })
      yield* subscribe({ ...wanted, endpoint: "https://d.example/", leaseUntil: 5_000 })
      const subscribers = (now: number) =>
        Effect.map(at(now)(store.load(resource.id)), (state) => Option.getOrThrow(state).subscribers)
      assert.strictEqual(yield* subscribers(4_999), 2)
      assert.strictEqual(yield* subscribers(5_000), 1)
    }))
}

const alarms = (it: Vitest.MethodsNonLive<Stores>) => {
  const alarmsOf = (partition: number, ids: ReadonlySet<number>) =>
    Effect.map(
      ResourceStore.use((store) => store.alarms(partition)),
      (all) => Array.from(all.ids, (id, i) => [id, all.dueAt[i]] as const).filter(([id]) => ids.has(id))
    )

  it.effect("gives the alarms of a partition, by id, and of no other", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const made = yield* Effect.forEach([11, 12, 11], (partition) => subscribe(wantedBy(account.id, { partition })))
      const states = made.map(({ resource }, i) => ({ ...resource, nextFetch: 1_700_000_000_001 + i }))
      yield* Effect.forEach(states, (state) => record(unchanged(state)), { concurrency: "unbounded" })
      const [a = 0, b = 0, c = 0] = states.map(({ id }) => id)
      const ids = new Set(states.map(({ id }) => id))
      assert.deepStrictEqual(yield* alarmsOf(11, ids), [[a, 1_700_000_000_001], [c, 1_700_000_000_003]])
      assert.deepStrictEqual(yield* alarmsOf(12, ids), [[b, 1_700_000_000_002]])
      assert.deepStrictEqual(yield* alarmsOf(13, ids), [])
      // as a runner asks that wakes its partitions
      const together = yield* Effect.forEach([13, 12, 14, 11], (one) => alarmsOf(one, ids), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(together, [[], [[b, 1_700_000_000_002]], [], [[a, 1_700_000_000_001], [
        c,
        1_700_000_000_003
      ]]])
    }))

  it.effect("gives no alarm of a resource without an active subscription, alone and together with others", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const { resource } = yield* subscribe(wantedBy(account.id, { partition: 127, state: "pending" }))
      const watched = yield* subscribe(wantedBy(account.id, { partition: 127 }))
      yield* record(unchanged({ ...resource, failures: 1 }))
      const read = ResourceStore.use((store) => store.alarms(127))
      const together = Effect.forEach([126, 127, 128, 129], (one) => ResourceStore.use((store) => store.alarms(one)), {
        concurrency: "unbounded"
      })
      for (const { failing, ids } of [yield* read, ...(yield* together).slice(1, 2)]) {
        assert.deepStrictEqual([[...ids], [...failing]], [[watched.resource.id], []])
      }
      yield* subscribe(
        wantedBy(account.id, {
          partition: 127,
          topic: { given: resource.url, canonical: resource.url, host: resource.host },
          endpoint: "https://b.example/"
        })
      )
      for (const { failing, ids } of [yield* read, ...(yield* together).slice(1, 2)]) {
        assert.deepStrictEqual([[...ids], [...failing]], [[resource.id, watched.resource.id], [resource.id]])
      }
    }))

  it.effect("names the failing resources of a partition", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const made = yield* Effect.forEach([18, 18, 19], (partition) => subscribe(wantedBy(account.id, { partition })))
      const [failing, working] = made.map(({ resource }) => resource)
      yield* Effect.forEach(made, ({ resource }, i) => record(unchanged({ ...resource, failures: i === 1 ? 0 : 2 })))
      const ids = [...(yield* ResourceStore.use((store) => store.alarms(18))).failing]
      assert.include(ids, failing?.id)
      assert.notInclude(ids, working?.id)
    }))

  it.effect("a new resource is due now", () =>
    Effect.gen(function*() {
      const { resource } = yield* at(1_600_000_000_777)(newSubscription({ partition: 14 }))
      assert.deepStrictEqual(yield* alarmsOf(14, new Set([resource.id])), [[resource.id, 1_600_000_000_777]])
    }))

  it.effect("sets no alarm for a resource without an active subscription", () =>
    Effect.gen(function*() {
      const store = yield* SubscriptionStore
      const pending = yield* newSubscription({ partition: 15, state: "pending" })
      const paused = yield* newSubscription({ partition: 15, channel: "xmpp", state: "paused" })
      const ended = yield* newSubscription({ partition: 15, leaseUntil: Date.now() - 1 })
      const left = yield* newSubscription({ partition: 15 })
      const ids = new Set([pending, paused, ended, left].map(({ resource }) => resource.id))
      assert.deepStrictEqual((yield* alarmsOf(15, ids)).map(([id]) => id), [left.resource.id])
      yield* store.remove(left.subscription.id)
      assert.deepStrictEqual(yield* alarmsOf(15, ids), [])
    }))
}

const touching = (it: Vitest.MethodsNonLive<Stores>) => {
  const polled = { nextFetch: 2_000, lastFetch: 1_000, period: 60, code: 304, failures: 0 }

  it.effect("keeps an unchanged poll, seen at once and after it was written", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { account, resource } = yield* newSubscription({ partition: 16 })
      yield* record(unchanged(full({ ...resource, lastFetch: 500 })))
      yield* store.touch({ id: resource.id, ...polled, lastFetch: 1_700_000_000_124 })
      const wanted = { ...full(resource), ...polled, lastFetch: 1_700_000_000_124 }
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(wanted))
      assert.deepStrictEqual(yield* store.find(resource.url), Option.some(wanted))
      const seen = Effect.map(
        store.findSubscribed(account.id, resource.url, 0),
        Option.map(({ resource }) => statusOf(resource, "topic"))
      )
      const shown = Option.some(statusOf(wanted, "topic"))
      assert.deepStrictEqual(yield* seen, shown)
      yield* store.flush
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(wanted))
      assert.deepStrictEqual(yield* seen, shown)
      const all = yield* store.alarms(16)
      assert.strictEqual(all.dueAt[all.ids.indexOf(resource.id)], 2_000)
    }))

  it.effect("keeps the last of several polls", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription({ partition: 17 })
      yield* store.touch({ id: resource.id, ...polled })
      yield* store.touch({ id: resource.id, ...polled, lastFetch: 1_060, nextFetch: 1_120 })
      const all = yield* store.alarms(17)
      assert.strictEqual(all.dueAt[all.ids.indexOf(resource.id)], 1_120)
      yield* store.flush
      const state = Option.getOrThrow(yield* store.load(resource.id))
      assert.deepStrictEqual([state.lastFetch, state.nextFetch], [1_060, 1_120])
    }))

  it.effect("lets no older poll overwrite a recorded one", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription()
      const wanted = { ...resource, lastFetch: 3_000, nextFetch: 4_000 }
      yield* record(unchanged(wanted))
      yield* store.touch({ id: resource.id, ...polled })
      yield* store.flush
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(wanted))
    }))

  it.effect("takes what was recorded by a clock more than a day ahead for older than any poll", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription()
      const day = 24 * 60 * 60_000
      for (const [ahead, wanted] of [[day, polled.lastFetch + day], [day + 1, polled.lastFetch]] as const) {
        const lastFetch = polled.lastFetch + ahead
        yield* record(unchanged({ ...resource, lastFetch, nextFetch: lastFetch + 60_000 }))
        yield* store.touch({ id: resource.id, ...polled })
        yield* store.flush
        assert.strictEqual(Option.getOrThrow(yield* store.load(resource.id)).lastFetch, wanted)
      }
    }))

  it.effect("lets a recorded poll stand over the one that was kept before it", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription()
      yield* store.touch({ id: resource.id, ...polled })
      const wanted = { ...resource, lastFetch: 1_060, nextFetch: 1_120, code: 200 }
      yield* record(unchanged(wanted))
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(wanted))
      yield* store.flush
      assert.deepStrictEqual(yield* store.load(resource.id), Option.some(wanted))
    }))

  it.effect("takes 5,000 polls and writes them all", () =>
    Effect.gen(function*() {
      const store = yield* ResourceStore
      const { resource } = yield* newSubscription()
      for (let i = 1; i <= 5_000; i++) yield* store.touch({ id: resource.id + (i % 3_000), ...polled, lastFetch: i })
      yield* store.touch({ id: resource.id, ...polled, lastFetch: 6_000 })
      yield* store.flush
      assert.strictEqual(Option.getOrThrow(yield* store.load(resource.id)).lastFetch, 6_000)
    }))
}

const announcing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("hands every subscriber the same notification, in order of subscription", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const first = yield* subscribe(wanted)
      const second = yield* subscribe({ ...wanted, endpoint: "https://b.example/", channel: "null" })
      const state = { ...first.resource, header: { title: { value: "Feed", type: "text" } }, code: 200, lastFetch: 9 }
      const entries = [entry("old", { published: 5 }), entry("new")]
      const deliveries = yield* at(1_700_000_000_000)(record(found(state, entries)))
      assert.deepStrictEqual(deliveries.map(({ subscriptionId }) => subscriptionId), [
        first.subscription.id,
        second.subscription.id
      ])
      assert.strictEqual(deliveries[0]?.notification, deliveries[1]?.notification)
      const { id: _, ...notification } = deliveries[0]?.notification ?? assert.fail()
      assert.deepStrictEqual(notification, {
        resourceId: first.resource.id,
        createdAt: 1_700_000_000_000,
        status: {
          title: "Feed",
          code: 200,
          period: 60,
          nextFetch: first.resource.nextFetch,
          lastFetch: 9,
          entriesCountSinceLastMaintenance: 0
        },
        header: { title: { value: "Feed", type: "text" } },
        news: { _tag: "Entries", entries: [entry("new"), entry("old", { published: 5 })] }
      })
      const { id: __, notification: ___, ...delivery } = deliveries[1] ?? assert.fail()
      assert.deepStrictEqual(delivery, {
        subscriptionId: second.subscription.id,
        sequence: 1,
        credits: -2,
        attempt: 0,
        dueAt: 1_700_000_000_000,
        waitsSince: 1_700_000_000_000
      })
    }))

  it.effect("tells only those that are active and whose lease has not ended", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const { resource } = yield* subscribe({ ...wanted, state: "pending" })
      yield* subscribe({ ...wanted, endpoint: "https://b.example/", state: "paused" })
      const leased = yield* subscribe({ ...wanted, endpoint: "https://c.example/", leaseUntil: 5_000, face: "hub" })
      const wholeFeed = { contentType: "application/rss+xml", body: new TextEncoder().encode("<rss/>") }
      const before = yield* at(4_999)(record({ ...found(resource, [entry("a")]), wholeFeed }))
      assert.deepStrictEqual(before.map(({ subscriptionId }) => subscriptionId), [leased.subscription.id])
      assert.deepStrictEqual(yield* at(5_000)(record({ ...found(resource, [entry("b")]), wholeFeed })), [])
    }))

  it.effect("announces nothing that it was not told to", () =>
    Effect.gen(function*() {
      const { account, resource } = yield* newSubscription()
      const quiet = { ...found(resource, [entry("a"), entry("b")]), announce: undefined }
      assert.deepStrictEqual(yield* record(quiet), [])
      const some: PollWrite = {
        ...found(resource, [entry("c"), entry("d")]),
        announce: { _tag: "Entries", ids: ["d"] }
      }
      const [delivery] = yield* record(some)
      assert.deepStrictEqual([idsOf(delivery), delivery?.sequence, delivery?.credits], [["d"], 1, -1])
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [resource.id], count: 10 }))
      assert.strictEqual(page._tag === "Page" && page.entries.length, 4)
      assert.strictEqual(
        Option.getOrThrow(yield* AccountStore.use((store) => store.find(account.login))).credits,
        -1
      )
    }))

  it.effect("announces once what is recorded twice, and only the ids that are new", () =>
    Effect.gen(function*() {
      const { account, resource } = yield* newSubscription()
      yield* record(found(resource, [entry("a"), entry("b")]))
      assert.deepStrictEqual(yield* record(found(resource, [entry("a"), entry("b")])), [])
      const [delivery, ...more] = yield* record(found(resource, [entry("b"), entry("c"), entry("d")]))
      assert.deepStrictEqual(more, [])
      assert.deepStrictEqual([idsOf(delivery), delivery?.sequence, delivery?.credits], [["d", "c"], 2, -2])
      assert.strictEqual(
        Option.getOrThrow(yield* AccountStore.use((store) => store.find(account.login))).credits,
        -2
      )
    }))

  it.effect("announces once what is recorded twice at the same time", () =>
    Effect.gen(function*() {
      const { resource, subscription } = yield* newSubscription()
      const change = found(resource, [entry("a"), entry("b")])
      const results = yield* Effect.all(Array.from({ length: 8 }, () => record(change)), { concurrency: "unbounded" })
      assert.deepStrictEqual(results.flat().map(idsOf), [["b", "a"]])
      const backlog = yield* Outbox.use((outbox) => outbox.backlog(subscription.id, 10))
      assert.deepStrictEqual(backlog.deliveries.map(({ sequence }) => sequence), [1])
      assert.strictEqual(backlog.nextSequence, 2)
    }))

  it.effect("keeps the order of several changes of one resource that are recorded together", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const store = yield* ResourceStore
      const changes = Array.from({ length: 20 }, (_, i) => found({ ...resource, lastFetch: i }, [entry(`e${i}`)]))
      const results = yield* Effect.forEach(changes, store.record, { concurrency: "unbounded" })
      assert.deepStrictEqual(results.map(([delivery]) => delivery?.sequence), changes.map((_, i) => i + 1))
      assert.deepStrictEqual(results.map(([delivery]) => idsOf(delivery)), changes.map((_, i) => [`e${i}`]))
      assert.strictEqual(Option.getOrThrow(yield* store.load(resource.id)).lastFetch, 19)
    }))

  it.effect("replaces the content of an updated entry, and announces it once", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      yield* at(100)(record(found(resource, [entry("a"), entry("b")])))
      const updated = entry("a", { title: { value: "Better", type: "text" } })
      const change: PollWrite = {
        state: resource,
        entries: [entry("c")],
        updated: [updated],
        announce: { _tag: "Entries", ids: ["a", "c"] }
      }
      const [delivery] = yield* at(200)(record(change))
      assert.deepStrictEqual(delivery?.notification.news, { _tag: "Entries", entries: [updated, entry("c")] })
      assert.deepStrictEqual(yield* record(change), [])
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [resource.id], count: 10 }))
      assert.deepStrictEqual(page._tag === "Page" ? page.entries : [], [
        { resourceId: resource.id, entry: entry("c"), firstSeen: 200 },
        { resourceId: resource.id, entry: entry("b"), firstSeen: 100 },
        { resourceId: resource.id, entry: updated, firstSeen: 100 }
      ])
    }))

  it.effect("adds no entry that is only said to be updated", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const change: PollWrite = {
        state: resource,
        entries: [],
        updated: [entry("never-seen")],
        announce: { _tag: "Entries", ids: ["never-seen", "unheard-of"] }
      }
      assert.deepStrictEqual(yield* record(change), [])
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [resource.id], count: 10 }))
      assert.deepStrictEqual(page, { _tag: "Page", entries: [] })
    }))

  it.effect("keeps the whole feed with its news for the hub face, and sends it nothing without", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const wholeFeed = { contentType: "application/rss+xml; charset=x", body: Uint8Array.of(0, 60, 255) }
      const { resource, subscription } = yield* subscribe(wanted)
      const alone = yield* record({ ...found(resource, [entry("a")]), wholeFeed })
      assert.deepStrictEqual(alone[0]?.notification.news, { _tag: "Entries", entries: [entry("a")] })
      const hub = (yield* subscribe({ ...wanted, accountId: 0, face: "hub" })).subscription
      const both = yield* record({ ...found(resource, [entry("b")]), wholeFeed })
      const news = { _tag: "Entries" as const, entries: [entry("b")], wholeFeed }
      assert.deepStrictEqual(
        both.map(({ credits, notification, sequence, subscriptionId }) => [
          subscriptionId,
          sequence,
          credits < 0,
          notification.news
        ]),
        [[subscription.id, 2, true, news], [hub.id, 1, both[1]?.credits !== 0, news]]
      )
      const backlog = yield* Outbox.use((outbox) => outbox.backlog(hub.id, 5))
      assert.deepStrictEqual(backlog.deliveries.map(({ notification }) => notification.news), [news])
      assert.deepStrictEqual(yield* stored(resource.id), Option.none())
      const without = yield* record(found(resource, [entry("c")]))
      assert.deepStrictEqual(without.map(({ subscriptionId }) => subscriptionId), [subscription.id])
      const failing = { ...unchanged({ ...resource, inError: true }), announce: { _tag: "Failure" as const } }
      assert.deepStrictEqual((yield* record(failing)).map(({ subscriptionId }) => subscriptionId), [subscription.id])
      const document = { contentType: "text/plain", body: Uint8Array.of(65) }
      const changed = {
        ...unchanged({ ...resource, signature: 9n }),
        announce: { _tag: "Document" as const, document }
      }
      assert.deepStrictEqual((yield* record(changed)).map(({ sequence }) => sequence), [5, 2])
    }))

  it.effect("knows whether the hub face watches, from the active subscription on, until the lease ends", () =>
    Effect.gen(function*() {
      const wanted = wantedBy(0, { face: "hub", state: "pending" })
      const pending = yield* subscribe(wanted)
      assert.deepStrictEqual([pending.resource.hasHubSubscribers, pending.resource.subscribers], [undefined, 0])
      const wholeFeed = { contentType: "text/xml", body: Uint8Array.of(60) }
      assert.deepStrictEqual(yield* record({ ...found(pending.resource, [entry("a")]), wholeFeed }), [])
      yield* subscribe({ ...wanted, state: "active", leaseUntil: 5_000 })
      const load = (now: number) => at(now)(ResourceStore.use((store) => store.load(pending.resource.id)))
      const [before, after] = [Option.getOrThrow(yield* load(4_999)), Option.getOrThrow(yield* load(5_000))]
      assert.deepStrictEqual([before.hasHubSubscribers, before.subscribers], [true, 1])
      assert.deepStrictEqual([after.hasHubSubscribers, after.subscribers], [undefined, 0])
      const { resource } = yield* subscribe({ ...wantedBy((yield* newAccount).id), topic: wanted.topic })
      assert.strictEqual(Option.getOrThrow(yield* ResourceStore.use((store) => store.load(resource.id))).subscribers, 1)
    }))

  it.effect("names the networks that asked for the subscriptions, while strangers alone watch", () =>
    Effect.gen(function*() {
      const asked = (change: Partial<NewSubscription>) =>
        subscribe(wantedBy(0, { face: "hub", endpoint: `https://callback.example/${unique("hook")}`, ...change }))
      const load = (id: number, now = 0) =>
        Effect.map(at(now)(ResourceStore.use((store) => store.load(id))), (found) => Option.getOrThrow(found).askers)
      const { topic } = wantedBy(0)
      const { resource, subscription } = yield* asked({ topic, asker: "192.0.2.0/24" })
      assert.strictEqual(subscription.asker, "192.0.2.0/24")
      yield* asked({ topic, asker: "192.0.2.0/24" })
      yield* asked({ topic, asker: "10.0.0.0/24", leaseUntil: 5_000 })
      assert.deepStrictEqual(yield* load(resource.id, 4_999), ["10.0.0.0/24", "192.0.2.0/24"])
      assert.deepStrictEqual(yield* load(resource.id, 5_000), ["192.0.2.0/24"])
      yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7], (n) => asked({ topic, asker: `10.0.${n}.0/24` }))
      assert.strictEqual((yield* load(resource.id, 5_000))?.length, 8)
      yield* asked({ topic, asker: "10.0.8.0/24" })
      assert.isUndefined(yield* load(resource.id, 5_000), "no single one of so many matters")
    }))

  it.effect("names no asker where one is unknown, or an account watches", () =>
    Effect.gen(function*() {
      const asker = "192.0.2.0/24"
      const askersWith = Effect.fnUntraced(function*(other: NewSubscription) {
        const { topic } = wantedBy(0)
        const { resource } = yield* subscribe(wantedBy(0, { face: "hub", topic, asker }))
        yield* subscribe({ ...other, topic, endpoint: "https://callback.example/other" })
        return Option.getOrThrow(yield* ResourceStore.use((store) => store.load(resource.id)))
      })
      const known = yield* askersWith(wantedBy(0, { face: "hub", asker }))
      assert.deepStrictEqual([known.strangersOnly, known.askers], [true, [asker]])
      const unknown = yield* askersWith(wantedBy(0, { face: "hub" }))
      assert.deepStrictEqual([unknown.strangersOnly, unknown.askers], [true, undefined])
      const mixed = yield* askersWith(wantedBy((yield* newAccount).id))
      assert.deepStrictEqual([mixed.strangersOnly, mixed.askers], [undefined, undefined])
    }))

  it.effect("announces the first document to the hub face alone, outside of the numbers of the resource", () =>
    Effect.gen(function*() {
      const { resource, subscription } = yield* subscribe(wantedBy(0, { face: "hub" }))
      const account = yield* newAccount
      yield* subscribe({
        ...wantedBy(account.id),
        topic: { given: resource.url, canonical: resource.url, host: resource.host }
      })
      const document = { contentType: "text/xml", body: Uint8Array.of(60, 61) }
      const deliveries = yield* ResourceStore.use((store) => store.announceFirst(resource, document))
      assert.deepStrictEqual(
        deliveries.map(({ notification: { news }, sequence, subscriptionId }) => [subscriptionId, sequence, news]),
        [
          [subscription.id, 1, { _tag: "Document", document }]
        ]
      )
      const { deliveries: [waiting] } = yield* Outbox.use((outbox) => outbox.backlog(subscription.id, 10))
      assert.deepStrictEqual([waiting?.id, waiting?.notification.news], [deliveries[0]?.id, {
        _tag: "Document",
        document
      }])
      assert.deepStrictEqual(yield* NotificationLog.use((log) => log.readAfter(resource.id, 0, 10)), [])
      const [next] = yield* record({ ...found(resource, [entry("a")]), wholeFeed: document })
      assert.strictEqual(next?.sequence, 2)
    }))

  it.effect("announces a document once for its signature, and keeps it", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const document = { contentType: "application/json; charset=utf-8", body: Uint8Array.of(0, 1, 2, 255) }
      const first: PollWrite = { ...unchanged({ ...resource, kind: "json", signature: 1n }), document }
      assert.deepStrictEqual(yield* record(first), [])
      assert.deepStrictEqual(yield* stored(resource.id), Option.some(document))

      const next = { contentType: "application/json", body: new TextEncoder().encode("{}") }
      const change: PollWrite = {
        ...unchanged({ ...resource, kind: "json", signature: 2n, header: {} }),
        announce: { _tag: "Document", document: next }
      }
      const [delivery] = yield* record(change)
      assert.deepStrictEqual(delivery?.notification.news, { _tag: "Document", document: next })
      assert.strictEqual(delivery?.notification.header, undefined)
      assert.deepStrictEqual(yield* record(change), [])
      assert.deepStrictEqual(yield* stored(resource.id), Option.some(next))
      assert.strictEqual((yield* record({ ...change, state: { ...change.state, signature: 1n } }))[0]?.sequence, 2)
    }))

  it.effect("announces every document of a state without a signature", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const document = { contentType: "text/plain", body: Uint8Array.of(65) }
      const change: PollWrite = { ...unchanged(resource), announce: { _tag: "Document", document } }
      const sequences = [yield* record(change), yield* record(change)].flat().map(({ sequence }) => sequence)
      assert.deepStrictEqual(sequences, [1, 2])
    }))

  it.effect("leaves the document when a change brings none", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const document = { contentType: "text/plain", body: Uint8Array.of(65) }
      yield* record({ ...unchanged(resource), document })
      yield* record(unchanged({ ...resource, code: 500 }))
      assert.deepStrictEqual(yield* stored(resource.id), Option.some(document))
    }))

  it.effect("announces a failure once, until the resource has left its error state", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const failed: PollWrite = {
        ...unchanged({ ...resource, inError: true, code: 500 }),
        announce: { _tag: "Failure" }
      }
      const [delivery] = yield* record(failed)
      assert.deepStrictEqual([delivery?.notification.news, delivery?.notification.status.code], [
        { _tag: "Failure" },
        500
      ])
      assert.deepStrictEqual(yield* record(failed), [])
      yield* record(unchanged({ ...resource, inError: false, code: 200 }))
      assert.strictEqual((yield* record(failed))[0]?.sequence, 2)
    }))
}

const stored = (resourceId: number) => EntryStore.use((store) => store.document(resourceId))

const crediting = (it: Vitest.MethodsNonLive<Stores>) => {
  const creditsOf = (login: string) =>
    Effect.map(AccountStore.use((store) => store.find(login)), (account) => Option.getOrThrow(account).credits)

  it.effect("charges each account one credit a notification and shows the balance after it", () =>
    Effect.gen(function*() {
      const [a, b] = [yield* newAccount, yield* newAccount]
      const wanted = wantedBy(a.id)
      const { resource } = yield* subscribe(wanted)
      yield* subscribe({ ...wanted, endpoint: "https://b.example/" })
      yield* subscribe({ ...wanted, accountId: b.id })
      const balances = (yield* record(found(resource, [entry("a")]))).map(({ credits }) => credits)
      assert.deepStrictEqual(balances, [-1, -2, -1])
      assert.deepStrictEqual(
        (yield* record(found(resource, [entry("b")]))).map(({ credits, sequence }) => [credits, sequence]),
        [[-3, 2], [-4, 2], [-2, 2]]
      )
      assert.deepStrictEqual([yield* creditsOf(a.login), yield* creditsOf(b.login)], [-4, -2])
    }))

  it.effect(
    "charges crossing accounts at the same time without a deadlock or a lost credit",
    () =>
      Effect.gen(function*() {
        const accounts = yield* Effect.all(Array.from({ length: 6 }, () => newAccount))
        const resources = yield* Effect.forEach(
          Array.from({ length: 12 }),
          Effect.fnUntraced(function*(_, i) {
            const order = i % 2 === 0 ? accounts : accounts.toReversed()
            const wanted = wantedBy(0)
            const made = yield* Effect.forEach(order, ({ id }) => subscribe({ ...wanted, accountId: id }))
            return made[0]?.resource ?? assert.fail()
          })
        )
        const rounds = 10
        const all = yield* Effect.forEach(
          resources,
          Effect.fnUntraced(function*(resource) {
            const balances: Array<ReadonlyArray<number>> = []
            for (let round = 0; round < rounds; round++) {
              const deliveries = yield* record(found(resource, [entry(`r${round}`)]))
              balances.push(
                ...deliveries.map(({ subscriptionId, credits, sequence }) => [subscriptionId, sequence, credits])
              )
            }
            return balances
          }),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(all.flat().length, resources.length * rounds * accounts.length)
        for (const { login } of accounts) assert.strictEqual(yield* creditsOf(login), -resources.length * rounds)
        // Each account's balances are all the numbers down to its last one, each once.
        const balances = all.flat().map(([, , credits]) => credits ?? 0).toSorted((a, b) => b - a)
        const wanted = Array.from({ length: resources.length * rounds }, (_, i) => accounts.map(() => -i - 1)).flat()
        assert.deepStrictEqual(balances, wanted)
      }),
    30_000
  )
}

const bounds = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("fans one change out to many subscriptions of two accounts", () =>
    Effect.gen(function*() {
      const [a, b] = [yield* newAccount, yield* newAccount]
      const wanted = wantedBy(a.id)
      const { resource } = yield* subscribe(wanted)
      yield* Effect.forEach(
        Array.from({ length: 499 }),
        (_, i) =>
          subscribe({ ...wanted, accountId: i % 2 === 0 ? a.id : b.id, endpoint: `https://callback.example/${i}` }),
        { concurrency: 20, discard: true }
      )
      const deliveries = yield* record(found(resource, [entry("a")]))
      assert.strictEqual(deliveries.length, 500)
      assert.strictEqual(new Set(deliveries.map(({ notification }) => notification)).size, 1)
      assert.deepStrictEqual(new Set(deliveries.map(({ sequence }) => sequence)), new Set([1]))
      const ids = deliveries.map(({ subscriptionId }) => subscriptionId)
      assert.deepStrictEqual(ids, ids.toSorted((x, y) => x - y))
      assert.strictEqual(Math.min(...deliveries.map(({ credits }) => credits)), -251)
    }))

  it.effect("refuses a document or an entry that is too large, and writes nothing of the change", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const document = { contentType: "text/plain", body: new Uint8Array(maxStoredLength + 1) }
      const failure = yield* Effect.flip(record({ ...unchanged({ ...resource, code: 200 }), document }))
      assert.strictEqual(failure.reason._tag, "Defect")
      assert.strictEqual(
        failure.message,
        `The document of ${resource.url} has 8388609 bytes; at most 8388608 can be stored.`
      )
      const large = entry("large", { summary: { value: "x".repeat(maxStoredLength), type: "text" } })
      const other = yield* Effect.flip(record(found(resource, [entry("small"), large])))
      assert.strictEqual(other.reason._tag, "Defect")
      assert.match(other.message, /^An entry of .* has \d+ bytes; at most 8388608 can be stored\.$/)
      assert.deepStrictEqual(yield* ResourceStore.use((store) => store.load(resource.id)), Option.some(resource))
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [resource.id], count: 10 }))
      assert.deepStrictEqual(page, { _tag: "Page", entries: [] })
    }))

  it.effect("writes large news in pieces, as one change", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const large = (id: string, letter: string) =>
        entry(id, { summary: { value: letter.repeat(3_000_000), type: "text" } })
      yield* at(100)(record(found(resource, [entry("known"), large("old", "a")])))
      const change: PollWrite = {
        state: resource,
        entries: [large("b", "b"), entry("known"), large("c", "c"), entry("silent")],
        updated: [large("old", "x"), entry("never-seen")],
        announce: { _tag: "Entries", ids: ["c", "known", "old", "never-seen", "b"] }
      }
      const [delivery, ...others] = yield* at(200)(record(change))
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(delivery?.notification.news, {
        _tag: "Entries",
        entries: [large("c", "c"), large("old", "x"), large("b", "b")]
      })
      assert.deepStrictEqual(yield* record(change), [])
      const page = yield* EntryStore.use((store) =>
        store.page({ resourceIds: [resource.id], count: 10, order: "stored" })
      )
      assert.deepStrictEqual(
        page._tag === "Page" ? page.entries.map(({ entry, firstSeen }) => [entry.id, firstSeen]) : [],
        [["silent", 200], ["c", 200], ["b", 200], ["old", 100], ["known", 100]]
      )
    }))

  it.effect("stores the largest document, and one change does not suffer from another's failure", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newSubscription(), yield* newSubscription()]
      const body = new Uint8Array(maxStoredLength).fill(7)
      const [kept, refused] = yield* Effect.all([
        record({ ...unchanged(one.resource), document: { contentType: "text/plain", body } }),
        Effect.flip(record({
          ...unchanged(two.resource),
          document: { contentType: "text/plain", body: new Uint8Array(maxStoredLength + 1) }
        }))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual([kept, refused.reason._tag], [[], "Defect"])
      assert.deepStrictEqual(Option.getOrThrow(yield* stored(one.resource.id)).body, body)
    }))

  it.effect("keeps entries of any date that a publisher invents, in their order", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const dates = [-8.64e15, 8.64e15, -62_135_596_800_001, 253_402_300_800_000, Number.NaN]
      const entries = dates.map((published, i) => entry(`e${i}`, { published }))
      yield* at(1_000)(record(found(resource, entries)))
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [resource.id], count: 10 }))
      const ids = page._tag === "Page" ? page.entries.map((stored) => stored.entry.id) : []
      assert.deepStrictEqual(ids, ["e1", "e3", "e4", "e2", "e0"])
    }))

  it.effect("announces an id once that a change names twice", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const twice = { ...found(resource, [entry("a"), entry("a", { summary: { value: "2", type: "text" } })]) }
      const [delivery] = yield* record(twice)
      assert.deepStrictEqual(idsOf(delivery), ["a"])
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [resource.id], count: 10 }))
      assert.strictEqual(page._tag === "Page" && page.entries.length, 1)
    }))

  it.effect("keeps any character of a stranger's feed", () =>
    Effect.gen(function*() {
      const { resource } = yield* newSubscription()
      const odd = entry(`nul \u0000 lone \ud800 ${unique("quote ' \" \\ ")}`, {
        title: { value: "\u0000\u0001\ud83e\udd85\udfff", type: "text" }
      })
      const [delivery] = yield* record(found({ ...resource, http: "a\u0000b", etag: "\"\u0000\"" }, [odd]))
      assert.deepStrictEqual(delivery?.notification.news, { _tag: "Entries", entries: [odd] })
      const page = yield* EntryStore.use((store) => store.page({ resourceIds: [resource.id], count: 1 }))
      assert.deepStrictEqual(page._tag === "Page" ? page.entries.map((stored) => stored.entry) : [], [odd])
    }))
}
