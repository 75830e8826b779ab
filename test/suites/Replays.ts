import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { type Replayed, Replays } from "#domain/ports/Replays.ts"
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

const entries = (...ids: ReadonlyArray<string>): Replayed => ({
  status,
  header: { title: { value: "A feed", type: "text" } },
  news: { _tag: "Entries", ids }
})

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
        const id = yield* replays.queue(subscription.id, entries("b", "gone", "a"))
        const { deliveries, nextSequence } = yield* outbox.backlog(subscription.id, 10)
        assert.deepStrictEqual([deliveries.length, nextSequence], [2, 3])
        const replayed = deliveries[1]
        assert.deepStrictEqual(Option.some(replayed?.id), id)
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
          replays.queue(subscription.id, { status, news: { _tag: "Document", document } })
        )
        const { deliveries } = yield* Outbox.use((outbox) => outbox.backlog(subscription.id, 10))
        assert.deepStrictEqual(deliveries[0]?.notification.news, { _tag: "Document", document })
      }))

    it.effect("count the documents of an account that wait or were dropped", () =>
      Effect.gen(function*() {
        const { account, subscription } = yield* newSubscription()
        const document = { contentType: "text/plain", body: new Uint8Array(100_000) }
        const replays = yield* Replays
        const outbox = yield* Outbox
        const queue = replays.queue(subscription.id, { status, news: { _tag: "Document", document } })
        yield* Effect.all([queue, queue, queue])
        yield* replays.queue(subscription.id, entries("a"))
        const [first = assert.fail(), second = assert.fail()] = (yield* outbox.backlog(subscription.id, 10)).deliveries
        yield* outbox.confirm(first.id)
        yield* outbox.drop(second, { code: 500, message: "no" })
        yield* outbox.flush
        assert.strictEqual(yield* replays.bytes(account.id), 200_000)
        const other = yield* newSubscription()
        assert.strictEqual(yield* replays.bytes(other.account.id), 0)
      }))

    it.effect("are no news to those who read along", () =>
      Effect.gen(function*() {
        const { resource, subscription } = yield* newSubscription()
        yield* record(found(resource, [entry("a")]))
        yield* Replays.use((replays) => replays.queue(subscription.id, entries("a")))
        yield* record(found(resource, [entry("b")]))
        const log = yield* NotificationLog
        assert.deepStrictEqual((yield* log.after(resource.id, 0, 10)).map(({ sequence }) => sequence), [1, 2])
        assert.deepStrictEqual(yield* log.heads([resource.id]), [2])
      }))

    it.effect("tell how far they are", () =>
      Effect.gen(function*() {
        const { resource, subscription } = yield* newSubscription()
        yield* record(found(resource, [entry("a")]))
        const replays = yield* Replays
        const outbox = yield* Outbox
        const queue = Effect.fnUntraced(function*() {
          const id = Option.getOrThrow(yield* replays.queue(subscription.id, entries("a")))
          const { deliveries } = yield* outbox.backlog(subscription.id, 10)
          return deliveries.find((delivery) => delivery.id === id) ?? assert.fail("it is not queued")
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
          yield* Replays.use((replays) => replays.queue(subscription.id, entries("a"))),
          Option.none()
        )
        const owner = yield* AccountStore.use((accounts) => accounts.find(account.login))
        assert.strictEqual(Option.getOrThrow(owner).credits, 0)
      }))
  })
}
