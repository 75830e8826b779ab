import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { HubCounts, HubSubscription } from "#domain/websub/HubSubscription.ts"
import { at, newSubscription, type Stores, subscribe, unique, wantedBy } from "#test/support/StoreFixture.ts"

const find = (id: number) => Effect.map(HubSubscriptionStore.use((store) => store.find(id)), Option.getOrUndefined)
const byCallback = (callback: string) =>
  Effect.map(HubSubscriptionStore.use((store) => store.byCallback(callback)), Option.getOrUndefined)
const save = (upstream: HubSubscription) => HubSubscriptionStore.use((store) => store.save(upstream))
const remove = (upstream: HubSubscription) => HubSubscriptionStore.use((store) => store.remove(upstream))
const tally = (...tallies: ReadonlyArray<HubCounts>) => HubSubscriptionStore.use((store) => store.addCounts(tallies))

const idle = (resourceId: number, change: Partial<HubSubscription> = {}): HubSubscription => ({
  resourceId,
  partition: 7,
  hubs: ["https://hub.example/", "https://other.example/?a=é"],
  hub: "https://hub.example/",
  topic: "https://feeds.example/ü#a",
  state: "idle",
  failures: 0,
  reliable: false,
  revision: 0,
  ...change
})

export const upstreamStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  describe("UpstreamStore", () => {
    it.effect("gives back every field, by resource, by callback and by partition", () =>
      Effect.gen(function*() {
        const { resource } = yield* newSubscription()
        const partition = 201
        const callback = unique("callback")
        const full = idle(resource.id, {
          partition,
          state: "active",
          callback,
          secret: unique("secret"),
          leaseUntil: 1_700_000_123_456,
          dueAt: 1_600_000_000_001,
          failures: 3,
          reliable: true,
          problem: "it's \"no\" é"
        })
        assert.strictEqual(yield* save(full), true)
        const stored = { ...full, revision: 1 }
        assert.deepStrictEqual(yield* find(resource.id), { subscription: stored, watched: true })
        assert.deepStrictEqual(yield* byCallback(callback), stored)
        const all = yield* HubSubscriptionStore.use((store) => store.ofPartition(partition))
        assert.deepStrictEqual(all.filter(({ resourceId }) => resourceId === resource.id), [stored])
        assert.strictEqual(
          yield* save({ ...idle(resource.id, { hubs: [], state: "unsubscribing" }), revision: 1 }),
          true
        )
        assert.deepStrictEqual((yield* find(resource.id))?.subscription, {
          ...idle(resource.id, { hubs: [], state: "unsubscribing" }),
          revision: 2
        })
        assert.isUndefined(yield* byCallback(callback))
      }))

    it.effect("knows nothing that was not saved", () =>
      Effect.gen(function*() {
        const { resource } = yield* newSubscription()
        assert.isUndefined(yield* find(resource.id))
        assert.isUndefined(yield* byCallback(unique("callback")))
      }))

    it.effect("lets the first of two changes pass, and not the second", () =>
      Effect.gen(function*() {
        const { resource } = yield* newSubscription()
        const outcomes = yield* Effect.all([save(idle(resource.id)), save(idle(resource.id, { failures: 9 }))], {
          concurrency: 2
        })
        assert.deepStrictEqual(outcomes.toSorted(), [false, true])
        assert.strictEqual(yield* save(idle(resource.id, { revision: 1, failures: 1 })), true)
        assert.strictEqual(yield* save(idle(resource.id, { revision: 1, failures: 2 })), false)
        assert.strictEqual((yield* find(resource.id))?.subscription.failures, 1)
        yield* remove(idle(resource.id, { revision: 1 }))
        assert.isDefined(yield* find(resource.id))
        yield* remove(idle(resource.id, { revision: 2 }))
        assert.isUndefined(yield* find(resource.id))
      }))

    it.effect("knows whether the resource is watched, by a lease of the hub face as well", () =>
      Effect.gen(function*() {
        const { resource, subscription } = yield* newSubscription()
        yield* save(idle(resource.id))
        assert.strictEqual((yield* find(resource.id))?.watched, true)
        yield* SubscriptionStore.use((store) => store.remove(subscription.id))
        assert.strictEqual((yield* find(resource.id))?.watched, false)
        const topic = { given: resource.url, canonical: resource.url, host: resource.host }
        yield* subscribe(
          wantedBy(0, { topic, face: "hub", endpoint: `https://x.example/${unique("hook")}`, leaseUntil: 2_000 })
        )
        assert.strictEqual((yield* at(1_999)(find(resource.id)))?.watched, true)
        assert.strictEqual((yield* at(2_000)(find(resource.id)))?.watched, false)
      }))

    it.effect("adds what is counted of a hub, and counts strikes since its last push", () =>
      Effect.gen(function*() {
        const hub = `https://${unique("hub")}.example/`
        const other = `https://${unique("hub")}.example/`
        const struck = (strikes: number) =>
          Effect.map(HubSubscriptionStore.use((store) => store.unreliableHubs(strikes)), (hubs) =>
            hubs.filter((one) => one === hub || one === other))
        yield* Effect.all([
          tally({ hub, pushed: 0, missed: 2, consecutiveMisses: 1 }, {
            hub: other,
            pushed: 0,
            missed: 1,
            consecutiveMisses: 0
          }),
          tally({ hub: other, pushed: 0, missed: 1, consecutiveMisses: 0 }, {
            hub,
            pushed: 0,
            missed: 5,
            consecutiveMisses: 1
          })
        ], { concurrency: 2 })
        yield* tally({ hub, pushed: 0, missed: 1, consecutiveMisses: 1 })
        assert.deepStrictEqual([yield* struck(3), yield* struck(4)], [[hub], []])
        yield* tally({ hub, pushed: 1, missed: 1, consecutiveMisses: 1 })
        assert.deepStrictEqual(yield* struck(1), [])
        const { resource } = yield* newSubscription()
        const fresh = `https://${unique("hub")}.example/`
        yield* save(idle(resource.id, { hub: fresh, state: "active", reliable: true }))
        const own = [fresh, hub, other]
        const reports = yield* HubSubscriptionStore.use((store) =>
          store.hubs(10_000)
        )
        assert.deepStrictEqual(reports.filter((one) => own.includes(one.hub)), [
          { hub: fresh, subscriptions: 1, reliable: 1, pushed: 0, missed: 0, consecutiveMisses: 0 },
          ...[
            { hub, subscriptions: 0, reliable: 0, pushed: 1, missed: 9, consecutiveMisses: 0 },
            { hub: other, subscriptions: 0, reliable: 0, pushed: 0, missed: 2, consecutiveMisses: 0 }
          ].toSorted((a, b) => a.hub < b.hub ? -1 : 1)
        ])
        assert.strictEqual((yield* HubSubscriptionStore.use((store) => store.hubs(1))).length, 1)
      }))
  })
}
