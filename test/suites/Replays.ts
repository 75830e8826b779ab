import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { type ReplayContent, Replays } from "#domain/ports/Replays.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import {
  entry,
  found,
  idsOf,
  newSubscription,
  record,
  type Stores,
  subscribe,
  wantedBy
} from "#test/support/StoreFixture.ts"

const status = { code: 200, http: "Fetched (ring) 200 900", period: 900 }

const entries = (...ids: ReadonlyArray<string>): ReplayContent => ({
  status,
  header: { title: { value: "A feed", type: "text" } },
  news: { _tag: "Entries", ids }
})

const documentOf = (bytes: number): ReplayContent => ({
  status,
  news: { _tag: "Document", document: { contentType: "text/plain", body: new Uint8Array(bytes) } }
})

/** So many that they are in nobody's way. */
const ample = 100

/** What every `Replays` keeps of its promises. */
export const replaysSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("Replays", () => {
    it.effect("queue stored entries for one subscription, behind what waits, for a credit", () =>
      Effect.gen(function*() {
        const { account, resource, subscription } = yield* newSubscription()
        const other = yield* subscribe({
          ...wantedBy(account.id),
          topic: { given: resource.url, canonical: resource.url, host: resource.host },
          endpoint: "https://other.example/"
        })
        yield* record(found(resource, [entry("a"), entry("b")]))
        const replays = yield* Replays
        const outbox = yield* Outbox
        const queued = yield* replays.enqueue(subscription.id, entries("b", "gone", "a"), { count: ample, bytes: 0 })
        const { deliveries, nextSequence } = yield* outbox.backlog(subscription.id, 10)
        assert.deepStrictEqual([deliveries.length, nextSequence], [2, 3])
        const replayed = deliveries[1]
        assert.deepStrictEqual(queued, { _tag: "Queued", id: replayed?.id ?? assert.fail() })
        assert.deepStrictEqual([replayed?.sequence, replayed?.attempt, replayed?.credits], [2, 0, -3])
        assert.deepStrictEqual(idsOf(replayed), ["b", "a"])
        assert.deepStrictEqual(replayed?.notification.status, status)
        assert.deepStrictEqual(replayed?.notification.header, { title: { value: "A feed", type: "text" } })
        assert.strictEqual((yield* outbox.backlog(other.subscription.id, 10)).deliveries.length, 1)
        const owner = yield* AccountStore.use((accounts) => accounts.find(account.login))
        assert.strictEqual(Option.getOrThrow(owner).credits, -3)
      }))

    it.effect("queue a document", () =>
      Effect.gen(function*() {
        const { subscription } = yield* newSubscription()
        const document = { contentType: "text/plain", body: new TextEncoder().encode("as it is") }
        yield* Replays.use((replays) =>
          replays.enqueue(subscription.id, { status, news: { _tag: "Document", document } }, { count: ample, bytes: 8 })
        )
        const { deliveries } = yield* Outbox.use((outbox) => outbox.backlog(subscription.id, 10))
        assert.deepStrictEqual(deliveries[0]?.notification.news, { _tag: "Document", document })
      }))

    it.effect("queue documents of an account up to a bound, counting those that wait or were dropped", () =>
      Effect.gen(function*() {
        const { account, subscription } = yield* newSubscription()
        const replays = yield* Replays
        const outbox = yield* Outbox
        const queue = (bytes: number, id = subscription.id) =>
          replays.enqueue(id, documentOf(bytes), { count: ample, bytes: 100_000 })
        for (const bytes of [50_000, 40_000, 10_000]) assert.strictEqual((yield* queue(bytes))._tag, "Queued")
        assert.deepStrictEqual(yield* queue(1), { _tag: "Full", bytes: 100_000 })
        const { subscription: another } = yield* subscribe(wantedBy(account.id))
        assert.deepStrictEqual(yield* queue(1, another.id), { _tag: "Full", bytes: 100_000 })
        assert.strictEqual(
          (yield* replays.enqueue(subscription.id, entries("a"), { count: ample, bytes: 100_000 }))._tag,
          "Queued"
        )
        assert.strictEqual((yield* queue(100_000, (yield* newSubscription()).subscription.id))._tag, "Queued")
        const [first = assert.fail(), second = assert.fail()] = (yield* outbox.backlog(subscription.id, 10)).deliveries
        yield* outbox.confirm(first.id)
        yield* outbox.drop(second, { code: 500, message: "no" })
        yield* outbox.flush
        assert.deepStrictEqual(yield* queue(50_001), { _tag: "Full", bytes: 50_000 })
        assert.strictEqual((yield* queue(50_000))._tag, "Queued")
      }))

    it.effect("queue as many for a subscription as may wait, whoever queues at the same time", () =>
      Effect.gen(function*() {
        const { account, resource, subscription } = yield* newSubscription()
        const { subscription: another } = yield* subscribe(wantedBy(account.id))
        yield* record(found(resource, [entry("a")]))
        const replays = yield* Replays
        const outbox = yield* Outbox
        const queue = (id: number) => replays.enqueue(id, entries("a"), { count: 4, bytes: 0 })
        const queued = yield* Effect.all(Array.from({ length: 8 }, () => queue(subscription.id)), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(queued.map(({ _tag }) => _tag).toSorted(), [
          ...Array.from({ length: 3 }, () => "Queued"),
          ...Array.from({ length: 5 }, () => "TooMany")
        ])
        assert.strictEqual((yield* queue(another.id))._tag, "Queued")
        const [first = assert.fail(), second = assert.fail()] = (yield* outbox.backlog(subscription.id, 10)).deliveries
        yield* outbox.confirm(first.id)
        yield* outbox.drop(second, { code: 500, message: "no" })
        yield* outbox.flush
        const tags = yield* Effect.forEach([1, 2, 3], () => Effect.map(queue(subscription.id), ({ _tag }) => _tag))
        assert.deepStrictEqual(tags, ["Queued", "Queued", "TooMany"])
      }))

    it.effect("count what is queued at the same time", () =>
      Effect.gen(function*() {
        const { account, subscription } = yield* newSubscription()
        const { subscription: another } = yield* subscribe(wantedBy(account.id))
        const replays = yield* Replays
        const queued = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, i) => i % 2 === 0 ? subscription.id : another.id),
          (id) => replays.enqueue(id, documentOf(10_000), { count: ample, bytes: 50_000 }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(Map.groupBy(queued, ({ _tag }) => _tag).get("Queued")?.length, 5)
        assert.deepStrictEqual(yield* replays.enqueue(another.id, documentOf(1), { count: ample, bytes: 0 }), {
          _tag: "Full",
          bytes: 50_000
        })
      }))

    it.effect("are no news to those who read along", () =>
      Effect.gen(function*() {
        const { resource, subscription } = yield* newSubscription()
        yield* record(found(resource, [entry("a")]))
        yield* Replays.use((replays) => replays.enqueue(subscription.id, entries("a"), { count: ample, bytes: 0 }))
        yield* record(found(resource, [entry("b")]))
        const log = yield* NotificationLog
        assert.deepStrictEqual((yield* log.readAfter(resource.id, 0, 10)).map(({ sequence }) => sequence), [1, 2])
        assert.deepStrictEqual(yield* log.heads([resource.id]), [2])
      }))

    it.effect("tell how far they are", () =>
      Effect.gen(function*() {
        const { resource, subscription } = yield* newSubscription()
        yield* record(found(resource, [entry("a")]))
        const replays = yield* Replays
        const outbox = yield* Outbox
        const queue = Effect.fnUntraced(function*() {
          const queued = yield* replays.enqueue(subscription.id, entries("a"), { count: ample, bytes: 0 })
          const { deliveries } = yield* outbox.backlog(subscription.id, 10)
          return deliveries.find(({ id }) => queued._tag === "Queued" && id === queued.id) ??
            assert.fail("it is not queued")
        })
        const [first, second] = [yield* queue(), yield* queue()]
        assert.deepStrictEqual(yield* replays.progress(first.id), { _tag: "Waiting", failed: undefined })
        yield* outbox.postpone(first, 9_000, { code: 503, message: "Later." })
        assert.deepStrictEqual(yield* replays.progress(first.id), {
          _tag: "Waiting",
          failed: { code: 503, message: "Later." }
        })
        yield* outbox.confirm(second.id)
        yield* outbox.flush
        assert.deepStrictEqual(yield* replays.progress(second.id), { _tag: "Gone" })
      }))

    it.effect("queue nothing for a subscription that is gone", () =>
      Effect.gen(function*() {
        const { account, subscription } = yield* newSubscription()
        yield* SubscriptionStore.use((store) => store.remove(subscription.id))
        assert.deepStrictEqual(
          yield* Replays.use((replays) => replays.enqueue(subscription.id, entries("a"), { count: ample, bytes: 0 })),
          { _tag: "Gone" }
        )
        assert.deepStrictEqual(
          yield* Replays.use((replays) => replays.enqueue(subscription.id, documentOf(1), { count: ample, bytes: 1 })),
          { _tag: "Gone" }
        )
        const owner = yield* AccountStore.use((accounts) => accounts.find(account.login))
        assert.strictEqual(Option.getOrThrow(owner).credits, 0)
      }))
  })
}
