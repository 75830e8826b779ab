import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { type EntryPruneStep, Retention } from "#domain/ports/Retention.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
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

/** What every `Retention` keeps of its promises. */
export const retentionSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("Retention", () => {
    deliveries(it)
    entries(it)
    resources(it)
    hubs(it)
  })
}

/** Partitions of these tests alone: what they delete is theirs. */
let lastPartition = 100
const ownPartition = () => ++lastPartition

const failed = { code: 503, message: "The callback answered 503." }

const numbered = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => entry(`${prefix}${i + 1}`))

const trim = Effect.fnUntraced(function*(partition: number, keep: number) {
  const retention = yield* Retention
  let deleted = 0
  for (let after: number | undefined = 0; after !== undefined;) {
    const step: EntryPruneStep = yield* retention.pruneEntries(partition, keep, after)
    deleted += step.deleted
    after = step.next
  }
  return deleted
})

const stored = Effect.fnUntraced(function*({ id }: ResourceState) {
  const page = yield* (yield* EntryStore).page({ resourceIds: [id], count: 50 })
  return page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : []
})

const deliveries = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("deletes what was given up and is old, oldest first, and nothing that waits", () =>
    Effect.gen(function*() {
      const partition = ownPartition()
      const { account, resource, subscription } = yield* newSubscription({ partition })
      const outbox = yield* Outbox
      for (let i = 1; i <= 5; i++) {
        const [delivery] = yield* at(i * 1_000)(record(found(resource, [entry(`e${i}`)])))
        assert.ok(delivery)
        if (i !== 2) yield* outbox.drop(delivery, failed) // due at i seconds
      }
      const retention = yield* Retention
      const counts = Effect.gen(function*() {
        const { items } = yield* (yield* SubscriptionStore).list({
          accountId: account.id,
          page: 1,
          byPage: 10,
          counted: true
        })
        return items.map(({ deliveries }) => [deliveries?.dropped, deliveries?.waiting])
      })
      assert.strictEqual(yield* retention.pruneDeliveries(ownPartition(), 4_000, 10), 0) // another partition's
      assert.strictEqual(yield* retention.pruneDeliveries(partition, 1_000, 10), 0)
      assert.strictEqual(yield* retention.pruneDeliveries(partition, 4_000, 1), 1)
      assert.deepStrictEqual(yield* counts, [[3, 1]])
      assert.strictEqual(yield* retention.pruneDeliveries(partition, 4_000, 10), 1)
      assert.deepStrictEqual(yield* counts, [[2, 1]])
      const { deliveries } = yield* outbox.backlog(subscription.id, 10)
      assert.deepStrictEqual(deliveries.map(({ sequence }) => sequence), [2])
    }))
}

const entries = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("deletes the entries beyond the newest ones by arrival, of each resource of the partition", () =>
    Effect.gen(function*() {
      const partition = ownPartition()
      const { resource } = yield* newSubscription({ partition })
      const { resource: other } = yield* newSubscription({ partition })
      const { resource: elsewhere } = yield* newSubscription({ partition: ownPartition() })
      yield* record({ ...unchanged(resource), entries: numbered("old", 3) })
      // published long ago, and yet the newest by arrival
      yield* record({ ...unchanged(resource), entries: [entry("late", { published: 1 })] })
      yield* record({ ...unchanged(other), entries: numbered("o", 2) })
      yield* record({ ...unchanged(elsewhere), entries: numbered("x", 4) })
      assert.strictEqual(yield* trim(partition, 2), 2)
      assert.sameMembers([...yield* stored(resource)], ["old3", "late"])
      assert.sameMembers([...yield* stored(other)], ["o1", "o2"])
      assert.strictEqual((yield* stored(elsewhere)).length, 4)
      assert.strictEqual(yield* trim(partition, 2), 0)
    }))

  it.effect("keeps the entries that a notification holds, however old", () =>
    Effect.gen(function*() {
      const partition = ownPartition()
      const { resource, subscription } = yield* newSubscription({ partition })
      yield* record({ ...unchanged(resource), entries: [entry("first")] })
      yield* record(found(resource, [entry("told 1"), entry("told 2")]))
      yield* record({ ...unchanged(resource), entries: numbered("silent", 4) })
      assert.strictEqual(yield* trim(partition, 2), 3)
      assert.sameMembers([...yield* stored(resource)], ["told 1", "told 2", "silent3", "silent4"])
      const { deliveries: [waiting] } = yield* (yield* Outbox).backlog(subscription.id, 10)
      assert.deepStrictEqual(idsOf(waiting), ["told 2", "told 1"])
    }))

  it.effect("keeps as many entries as the resource remembers ids", () =>
    Effect.gen(function*() {
      const partition = ownPartition()
      const { resource } = yield* newSubscription({ partition })
      yield* record({ ...unchanged({ ...resource, seen: new Uint8Array(5 * 8) }), entries: numbered("e", 7) })
      assert.strictEqual(yield* trim(partition, 2), 2)
      assert.sameMembers([...yield* stored(resource)], ["e3", "e4", "e5", "e6", "e7"])
    }))
}

const isStored = (url: string) => Effect.map(ResourceStore.use((store) => store.find(url)), Option.isSome)

const resources = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("deletes resources whose last subscription ended long ago, with their entries and notifications", () =>
    Effect.gen(function*() {
      const partition = ownPartition()
      const retention = yield* Retention
      const store = yield* SubscriptionStore
      const [old, recent, watched] = [
        yield* newSubscription({ partition }),
        yield* newSubscription({ partition }),
        yield* newSubscription({ partition })
      ]
      for (const { resource } of [old, recent, watched]) yield* record(found(resource, [entry("a")]))
      yield* at(1_000)(store.remove(old.subscription.id))
      yield* at(5_000)(store.remove(recent.subscription.id))
      assert.deepStrictEqual(yield* retention.pruneResources(partition, 1_000, 10), { deleted: [], isFinished: true })
      assert.deepStrictEqual((yield* retention.pruneResources(partition, 5_000, 10)).deleted, [old.resource.id])
      assert.deepStrictEqual(yield* stored(old.resource), [])
      const log = yield* NotificationLog
      assert.deepStrictEqual(yield* log.readAfter(old.resource.id, 0, 10), [])
      assert.isFalse(yield* isStored(old.resource.url))
      assert.isTrue((yield* isStored(recent.resource.url)) && (yield* isStored(watched.resource.url)))
      assert.deepStrictEqual(yield* stored(recent.resource), ["a"])
    }))

  it.effect("keeps a resource with a new subscription, and counts anew from its end", () =>
    Effect.gen(function*() {
      const partition = ownPartition()
      const retention = yield* Retention
      const store = yield* SubscriptionStore
      const { account, resource, subscription } = yield* newSubscription({ partition })
      const topic = { given: resource.url, canonical: resource.url, host: resource.host }
      yield* at(1_000)(store.remove(subscription.id))
      const again = yield* subscribe({ ...wantedBy(account.id, { partition }), topic })
      assert.strictEqual(again.resource.id, resource.id)
      assert.deepStrictEqual((yield* retention.pruneResources(partition, 5_000, 10)).deleted, [])
      yield* at(6_000)(store.remove(again.subscription.id))
      assert.deepStrictEqual((yield* retention.pruneResources(partition, 6_000, 10)).deleted, [])
      assert.deepStrictEqual((yield* retention.pruneResources(partition, 6_001, 10)).deleted, [resource.id])
    }))

  it.effect("lets a resource that never had an active subscription go with its last pending one", () =>
    Effect.gen(function*() {
      const store = yield* SubscriptionStore
      const account = yield* newAccount
      const first = yield* subscribe(wantedBy(account.id, { state: "pending" }))
      const topic = { given: first.resource.url, canonical: first.resource.url, host: first.resource.host }
      const other = { state: "pending" as const, leaseUntil: 1, endpoint: "https://other.example/hook" }
      const second = yield* subscribe({ ...wantedBy(account.id, other), topic })
      yield* store.removePending(first.subscription.id)
      assert.isTrue(yield* isStored(topic.canonical))
      yield* store.removeExpired(1_000)
      assert.isFalse(yield* isStored(topic.canonical))
      assert.isTrue(Option.isNone(yield* store.load(second.subscription.id)))
    }))

  it.effect("discards a subscription with the resource that was created for it, and no other resource", () =>
    Effect.gen(function*() {
      const store = yield* SubscriptionStore
      const { account, resource, subscription } = yield* at(1_000)(newSubscription())
      const topic = { given: resource.url, canonical: resource.url, host: resource.host }
      const other = { endpoint: "https://other.example/hook" }
      const later = yield* at(2_000)(subscribe({ ...wantedBy(account.id, other), topic }))
      yield* store.remove(subscription.id)
      assert.isTrue(yield* store.discard(later.subscription.id))
      assert.isTrue(yield* isStored(resource.url))
      const only = yield* newSubscription()
      yield* record(found(only.resource, [entry("a")]))
      assert.isTrue(yield* store.discard(only.subscription.id))
      assert.isFalse(yield* isStored(only.resource.url))
      assert.deepStrictEqual(yield* stored(only.resource), [])
    }))
}

const hubs = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("deletes hubs that no resource has any more, oldest count first, with their strikes, and no others", () =>
    Effect.gen(function*() {
      const retention = yield* Retention
      const store = yield* HubSubscriptionStore
      const [one, two, young, asked] = ["one", "two", "young", "asked"].map((name) =>
        `https://${unique(name)}.example/`
      )
      assert.ok(one !== undefined && two !== undefined && young !== undefined && asked !== undefined)
      const count = (hub: string, ms: number, strikes = 0) =>
        at(ms)(store.addCounts([{ hub, pushed: 0, missed: 1, consecutiveMisses: strikes }]))
      yield* retention.pruneHubs(1_000, 10_000) // of other tests
      yield* Effect.all([count(two, 2_000), count(one, 1_000, 5), count(young, 1_500), count(asked, 1_000)])
      yield* count(young, 4_000)
      const { resource } = yield* newSubscription()
      yield* store.save({
        resourceId: resource.id,
        partition: resource.partition,
        hubs: [asked],
        hub: asked,
        topic: resource.url,
        state: "idle",
        failures: 0,
        reliable: false,
        revision: 0
      })
      const left = Effect.map(
        store.hubs(10_000),
        (reports) => reports.map(({ hub }) => hub).filter((hub) => [one, two, young, asked].includes(hub))
      )
      assert.strictEqual(yield* retention.pruneHubs(1_000, 10), 0)
      assert.strictEqual(yield* retention.pruneHubs(3_000, 1), 1)
      assert.sameMembers([...yield* left], [two, young, asked])
      assert.strictEqual(yield* retention.pruneHubs(3_000, 10), 1)
      assert.sameMembers([...yield* left], [young, asked])
      assert.notInclude(yield* store.unreliableHubs(1), one)
    }))
}
