import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Redelivery } from "#domain/ports/Redelivery.ts"
import { type PollWrite, ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
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
  wantedBy
} from "#test/support/StoreFixture.ts"

/** What every `Outbox` keeps of its promises. */
export const outboxSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("Outbox", () => {
    waiting(it)
    settling(it)
    splitting(it)
    stalling(it)
  })
}

const failed = { code: 503, message: "The callback answered 503." }

/** A subscription with a delivery for each of `count` recorded entries. */
const queued = Effect.fnUntraced(function*(count: number, change: Partial<NewSubscription> = {}) {
  const made = yield* newSubscription(change)
  const deliveries: Array<Delivery> = []
  for (let i = 1; i <= count; i++) {
    deliveries.push(...yield* at(i * 1_000)(record(found(made.resource, [entry(`e${i}`)]))))
  }
  return { ...made, deliveries }
})

const backlog = (subscriptionId: number, limit = 100) => Outbox.use((outbox) => outbox.backlog(subscriptionId, limit))

const sequencesOf = (subscriptionId: number) =>
  Effect.map(backlog(subscriptionId), ({ deliveries }) => deliveries.map(({ sequence }) => sequence))

const waiting = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("gives what was recorded, in order of sequence, as it was recorded", () =>
    Effect.gen(function*() {
      const { deliveries, subscription } = yield* queued(3)
      assert.deepStrictEqual(yield* backlog(subscription.id), { deliveries, hasMore: false, nextSequence: 4 })
      assert.deepStrictEqual(yield* backlog(subscription.id, 3), { deliveries, hasMore: false, nextSequence: 4 })
      assert.deepStrictEqual(yield* backlog(subscription.id, 2), {
        deliveries: deliveries.slice(0, 2),
        hasMore: true,
        nextSequence: 4
      })
    }))

  it.effect("gives as many documents as are asked for in bytes, and one that is larger alone", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { resource, subscription } = yield* newSubscription()
      for (const signature of [2n, 3n, 4n]) {
        const document = { contentType: "text/plain", body: new Uint8Array(10).fill(Number(signature)) }
        const change = { ...unchanged({ ...resource, signature }), announce: { _tag: "Document" as const, document } }
        yield* record(change)
      }
      const numbered = (bytes: number) =>
        Effect.map(outbox.backlog(subscription.id, 10, bytes), ({ deliveries, hasMore }) => ({
          sequences: deliveries.map(({ sequence }) => sequence),
          hasMore
        }))
      assert.deepStrictEqual(yield* numbered(30), { sequences: [1, 2, 3], hasMore: false })
      assert.deepStrictEqual(yield* numbered(29), { sequences: [1, 2], hasMore: true })
      assert.deepStrictEqual(yield* numbered(5), { sequences: [1], hasMore: true })
      const { deliveries: [first] } = yield* outbox.backlog(subscription.id, 1)
      yield* outbox.confirm(first?.id ?? 0)
      assert.deepStrictEqual(yield* numbered(5), { sequences: [2], hasMore: true })
    }))

  it.effect("gives documents, failures, headers and the order of entries as they were told", () =>
    Effect.gen(function*() {
      const { resource, subscription } = yield* newSubscription()
      const header = { title: { value: "Feed \u0000", type: "text" } }
      const document = { contentType: "application/json", body: Uint8Array.of(0, 255) }
      const changes: ReadonlyArray<PollWrite> = [
        { ...found({ ...resource, header }, [entry("a", { published: 9 }), entry("b"), entry("c")]) },
        { ...unchanged({ ...resource, signature: 2n }), announce: { _tag: "Document", document } },
        { ...unchanged({ ...resource, inError: true, code: 500 }), announce: { _tag: "Failure" } }
      ]
      const recorded = yield* Effect.forEach(changes, record)
      const { deliveries } = yield* backlog(subscription.id)
      assert.deepStrictEqual(deliveries, recorded.flat())
      assert.deepStrictEqual(idsOf(deliveries[0]), ["c", "b", "a"])
    }))

  it.effect("has nothing for a new subscription, and nothing for one that is gone", () =>
    Effect.gen(function*() {
      const { subscription } = yield* newSubscription()
      const nothing = { deliveries: [], hasMore: false, nextSequence: 1 }
      assert.deepStrictEqual(yield* backlog(subscription.id), nothing)
      const other = yield* queued(2)
      yield* SubscriptionStore.use((store) => store.remove(other.subscription.id))
      assert.deepStrictEqual(yield* backlog(other.subscription.id), nothing)
    }))

  it.effect("answers many subscriptions at once, each with its own and its own limit", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const made = yield* Effect.forEach(
        Array.from({ length: 20 }),
        (_, i) => subscribe({ ...wanted, endpoint: `https://callback.example/${i}` })
      )
      const resource = made[0]?.resource ?? assert.fail()
      for (let i = 1; i <= 5; i++) yield* record(found(resource, [entry(`e${i}`)]))
      const answers = yield* Effect.forEach(
        made,
        ({ subscription }, i) => backlog(subscription.id, 1 + i % 5),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(({ deliveries, hasMore }) => [deliveries.length, hasMore]),
        made.map((_, i) => [1 + i % 5, i % 5 !== 4])
      )
      answers.forEach(({ deliveries }, i) =>
        assert.deepStrictEqual(
          new Set(deliveries.map((one) => one.subscriptionId)),
          new Set([made[i]?.subscription.id])
        )
      )
      const shared = new Set(answers.map(({ deliveries }) => deliveries[0]?.notification))
      assert.strictEqual(shared.size, 1)
    }))
}

const settling = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("never shows a confirmed delivery again, before and after it is written", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries, subscription } = yield* queued(4)
      yield* outbox.confirm(deliveries[0]?.id ?? 0)
      yield* outbox.confirm(deliveries[2]?.id ?? 0)
      assert.deepStrictEqual(yield* backlog(subscription.id, 1), {
        deliveries: deliveries.slice(1, 2),
        hasMore: true,
        nextSequence: 5
      })
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), [2, 4])
      yield* outbox.flush
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), [2, 4])
    }))

  it.effect("confirms while others ask, and none is seen twice", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries, subscription } = yield* queued(30)
      const confirmed = new Set<number>()
      yield* Effect.forEach(
        deliveries,
        Effect.fnUntraced(function*({ id }, i) {
          yield* Effect.sleep(i % 7 * 9)
          yield* outbox.confirm(id)
          confirmed.add(id)
          const before = new Set(confirmed)
          const seen = (yield* backlog(subscription.id)).deliveries.filter((one) => before.has(one.id))
          assert.deepStrictEqual(seen, [])
        }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* backlog(subscription.id), { deliveries: [], hasMore: false, nextSequence: 31 })
    }))

  it.effect("postpones: one more failed try, due later, the same otherwise", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries, subscription } = yield* queued(2)
      const [first = assert.fail(), second = assert.fail()] = deliveries
      yield* outbox.postpone(first, 1_700_000_000_123, failed)
      const postponed = { ...first, attempt: 1, dueAt: 1_700_000_000_123 }
      assert.deepStrictEqual((yield* backlog(subscription.id)).deliveries, [postponed, second])
      yield* outbox.postpone(first, 1_700_000_000_123, failed) // its answer was lost
      assert.deepStrictEqual((yield* backlog(subscription.id)).deliveries, [postponed, second])
      yield* outbox.postpone({ ...postponed, requestedWait: 60_000 }, 1_700_000_000_999, {
        code: 0,
        message: "No \u0000 answer."
      })
      const again = { ...first, attempt: 2, dueAt: 1_700_000_000_999, requestedWait: 60_000 }
      assert.deepStrictEqual((yield* backlog(subscription.id)).deliveries, [again, second])
      yield* outbox.postpone({ ...postponed, attempt: 2 }, 1_700_000_001_000, failed)
      assert.isUndefined((yield* backlog(subscription.id)).deliveries[0]?.requestedWait)
    }))

  it.effect("keeps what is dropped out of the backlog, and visible; what is dropped stays so", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { account, deliveries, subscription } = yield* queued(3)
      const [first = assert.fail(), second = assert.fail()] = deliveries
      yield* outbox.drop(first, failed)
      yield* outbox.postpone(first, 1, failed)
      yield* outbox.confirm(second.id)
      yield* outbox.flush
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), [3])
      const { items } = yield* SubscriptionStore.use((store) =>
        store.list({ accountId: account.id, page: 1, byPage: 5, counted: true })
      )
      assert.deepStrictEqual(items.map(({ deliveries }) => deliveries), [{ waiting: 1, dropped: 1 }])
    }))

  it.effect("gives up what is old, untried, and leaves what is not, and the others", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { account, deliveries, subscription } = yield* queued(4)
      const other = yield* queued(2)
      yield* outbox.confirm(deliveries[0]?.id ?? 0)
      yield* outbox.flush
      assert.strictEqual(yield* outbox.dropOlder(subscription.id, 3_000), 2)
      assert.strictEqual(yield* outbox.dropOlder(subscription.id, 3_000), 0)
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), [4])
      assert.deepStrictEqual(yield* sequencesOf(other.subscription.id), [1, 2])
      const { items } = yield* SubscriptionStore.use((store) =>
        store.list({ accountId: account.id, page: 1, byPage: 5, counted: true })
      )
      assert.deepStrictEqual(items.map(({ deliveries }) => deliveries), [{ waiting: 1, dropped: 2 }])
    }))

  it.effect("counts the waiting of what waits anew, and that of nothing else", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries, subscription } = yield* queued(4)
      const other = yield* queued(1)
      yield* outbox.drop(deliveries[0] ?? assert.fail(), failed)
      yield* outbox.restartWaiting(subscription.id, 3_000)
      const since = (id: number) =>
        Effect.map(backlog(id), ({ deliveries }) => deliveries.map(({ waitsSince }) => waitsSince))
      assert.deepStrictEqual(yield* since(subscription.id), [3_000, 3_000, 4_000])
      assert.deepStrictEqual(yield* since(other.subscription.id), [1_000])
      assert.strictEqual(yield* outbox.dropOlder(subscription.id, 2_999), 0)
      assert.strictEqual(yield* outbox.dropOlder(subscription.id, 3_000), 2)
    }))

  it.effect("takes what is gone without complaint", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries, subscription } = yield* queued(2)
      const [first = assert.fail(), second = assert.fail()] = deliveries
      yield* SubscriptionStore.use((store) => store.remove(subscription.id))
      yield* outbox.postpone(first, 1, failed)
      yield* outbox.drop(second, failed)
      yield* outbox.confirm(first.id)
      yield* outbox.flush
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), [])
    }))

  it.effect("a removal cancels what is recorded at the same time", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const made = yield* Effect.forEach(Array.from({ length: 12 }), () => subscribe(wantedBy(account.id)))
      const store = yield* SubscriptionStore
      yield* Effect.forEach(
        made,
        ({ resource, subscription }, i) =>
          Effect.all([
            record(found(resource, [entry("a")])),
            Effect.delay(store.remove(subscription.id), i)
          ], { concurrency: "unbounded" }),
        { concurrency: "unbounded", discard: true }
      )
      const left = yield* Effect.forEach(made, ({ subscription }) => sequencesOf(subscription.id))
      assert.deepStrictEqual(left, made.map(() => []))
      const partitions = [...new Set(made.map(({ resource }) => resource.partition))]
      const ids = new Set(made.map(({ subscription }) => subscription.id))
      const stalled = yield* Outbox.use((outbox) => outbox.findStalled(partitions, 8e15))
      assert.deepStrictEqual(stalled.filter(({ subscriptionId }) => ids.has(subscriptionId)), [])
    }))

  it.effect("numbers without a gap whatever happens at the same time", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const { resource, subscription } = yield* subscribe(wanted)
      const accounts = yield* AccountStore
      const others = yield* SubscriptionStore
      yield* Effect.all([
        Effect.forEach(Array.from({ length: 40 }), (_, i) => record(found(resource, [entry(`e${i}`)])), {
          concurrency: "unbounded"
        }),
        Effect.forEach(Array.from({ length: 10 }), (_, i) =>
          Effect.flatMap(
            others.subscribe({ ...wanted, endpoint: `https://callback.example/${i}` }),
            (made) => others.remove(made.subscription.id)
          )),
        Effect.forEach(Array.from({ length: 10 }), () => others.subscribe({ ...wanted, secret: "s" }))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), Array.from({ length: 40 }, (_, i) => i + 1))
      assert.isTrue(Option.isSome(yield* accounts.find(account.login)))
      assert.strictEqual(Option.getOrThrow(yield* ResourceStore.use((store) => store.load(resource.id))).subscribers, 1)
    }))
}

const splitting = (it: Vitest.MethodsNonLive<Stores>) => {
  const tooLarge = { code: 413, message: "The callback answered 413.", latency: 7 }
  const numbered = (subscriptionId: number) =>
    Effect.map(backlog(subscriptionId), ({ deliveries }) => deliveries.map((one) => [one.sequence, idsOf(one).join()]))
  const many = Effect.fnUntraced(function*(...counts: ReadonlyArray<number>) {
    const made = yield* newSubscription()
    for (const [i, count] of counts.entries()) {
      const entries = Array.from({ length: count }, (_, n) => entry(`${"abcd"[i]}${n + 1}`))
      yield* at(1_000 + i)(record(found(made.resource, entries)))
    }
    const { deliveries } = yield* backlog(made.subscription.id)
    return { ...made, deliveries }
  })

  it.effect("splits a delivery into its older and its newer half, and moves the later ones", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries, resource, subscription } = yield* many(5, 2)
      const [first = assert.fail(), second = assert.fail()] = deliveries
      yield* outbox.postpone(first, 5_000, failed)
      const tried = { ...first, attempt: 1, dueAt: 5_000 }
      assert.isTrue(yield* at(9_000)(outbox.split(tried, tooLarge)))
      assert.deepStrictEqual(yield* numbered(subscription.id), [[1, "a2,a1"], [2, "a5,a4,a3"], [3, "b2,b1"]])
      const { deliveries: [older = assert.fail(), newer = assert.fail(), later], nextSequence } = yield* backlog(
        subscription.id
      )
      assert.strictEqual(nextSequence, 4)
      const news = (one: Delivery, ids: ReadonlyArray<string>): Delivery["notification"]["news"] =>
        one.notification.news._tag === "Entries"
          ? { _tag: "Entries", entries: one.notification.news.entries.filter(({ id }) => ids.includes(id)) }
          : assert.fail()
      const half = (ids: ReadonlyArray<string>) => ({
        ...first,
        attempt: 0,
        dueAt: 5_000,
        isPart: true as const,
        notification: { ...first.notification, news: news(first, ids) }
      })
      assert.deepStrictEqual(newer, { ...half(["a5", "a4", "a3"]), sequence: 2 })
      assert.deepStrictEqual(older, { ...half(["a2", "a1"]), id: older.id, sequence: 1 })
      assert.notStrictEqual(older.id, first.id)
      assert.deepStrictEqual(later, { ...second, sequence: 3 })
      yield* record(found(resource, [entry("c")]))
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), [1, 2, 3, 4])
      const log = yield* DeliveryLog.use(({ list }) => list({ limit: 1_000 }))
      const logged = log.items.find((one) =>
        one.outcome === "failed" && one.subscriptionId === subscription.id && one.attempt === 2
      )
      assert.deepInclude(logged, { ...tooLarge, sequence: 1, triedAt: 9_000, nextTry: 9_000 })
    }))

  it.effect("splits parts again, down to one entry, and each part is confirmed, postponed and dropped alone", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { account, deliveries: [first = assert.fail()], subscription } = yield* many(4)
      const head = Effect.map(backlog(subscription.id), ({ deliveries: [one = assert.fail()] }) => one)
      yield* outbox.split(first, tooLarge)
      yield* outbox.split(yield* head, tooLarge)
      assert.deepStrictEqual(yield* numbered(subscription.id), [[1, "a1"], [2, "a2"], [3, "a4,a3"]])
      assert.isFalse(yield* outbox.split(yield* head, tooLarge))
      assert.deepStrictEqual(yield* numbered(subscription.id), [[1, "a1"], [2, "a2"], [3, "a4,a3"]])
      yield* outbox.confirm((yield* head).id)
      yield* outbox.flush
      const second = yield* head
      yield* outbox.postpone(second, 7_000, tooLarge)
      assert.deepStrictEqual(yield* head, { ...second, attempt: 1, dueAt: 7_000 })
      yield* outbox.drop(yield* head, tooLarge)
      yield* outbox.split(yield* head, tooLarge)
      assert.deepStrictEqual(yield* numbered(subscription.id), [[3, "a3"], [4, "a4"]])
      const { items } = yield* SubscriptionStore.use((store) =>
        store.list({ accountId: account.id, page: 1, byPage: 5, counted: true })
      )
      assert.deepStrictEqual(items.map(({ deliveries }) => deliveries), [{ waiting: 2, dropped: 1 }])
    }))

  it.effect("splits once, although the answer to the first call was lost, and nothing that is gone", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries: [first = assert.fail(), second = assert.fail()], subscription } = yield* many(4, 3)
      assert.isTrue(yield* outbox.split(first, tooLarge))
      assert.isTrue(yield* outbox.split(first, tooLarge))
      const parts = [[1, "a2,a1"], [2, "a4,a3"], [3, "b3,b2,b1"]]
      assert.deepStrictEqual(yield* numbered(subscription.id), parts)
      yield* outbox.drop({ ...second, sequence: 3 }, failed)
      assert.isTrue(yield* outbox.split({ ...second, sequence: 3 }, tooLarge))
      assert.deepStrictEqual(yield* numbered(subscription.id), parts.slice(0, 2))
      const { deliveries: [head = assert.fail()] } = yield* backlog(subscription.id)
      yield* outbox.split(head, tooLarge)
      const moved = [[1, "a1"], [2, "a2"], [3, "a4,a3"]]
      assert.deepStrictEqual(yield* numbered(subscription.id), moved)
      yield* SubscriptionStore.use((store) => store.remove(subscription.id))
      yield* outbox.split(first, tooLarge)
      assert.deepStrictEqual(yield* numbered(subscription.id), [])
    }))

  it.effect("splits no resent delivery ahead of delivered ones, whose sequences would be used twice", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const redelivery = yield* Redelivery
      const { deliveries: [first = assert.fail(), second = assert.fail()], subscription: { id } } = yield* many(4, 1, 2)
      yield* outbox.confirm(first.id)
      yield* outbox.flush
      yield* redelivery.resend(id, [{ sequence: first.sequence }])
      yield* outbox.confirm(second.id) // not written yet
      const { deliveries: [resent = assert.fail()] } = yield* backlog(id)
      assert.isFalse(yield* outbox.split(resent, tooLarge))
      assert.isFalse(yield* outbox.split(resent, tooLarge))
      assert.deepStrictEqual(yield* numbered(id), [[1, "a4,a3,a2,a1"], [3, "c2,c1"]])
      assert.deepStrictEqual((yield* backlog(id)).deliveries[0], resent)
      assert.strictEqual((yield* backlog(id)).nextSequence, 4)
      const log = yield* DeliveryLog.use(({ list }) => list({ limit: 1_000 }))
      assert.deepStrictEqual(log.items.filter((one) => one.outcome === "failed" && one.subscriptionId === id), [])
      yield* outbox.confirm(resent.id)
      const { deliveries: [third = assert.fail()] } = yield* backlog(id)
      assert.isTrue(yield* outbox.split(third, tooLarge))
      assert.deepStrictEqual(yield* numbered(id), [[3, "c1"], [4, "c2"]])
    }))

  it.effect("splits no recovered delivery ahead of a resent one, whose sequence the receiver knows", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const redelivery = yield* Redelivery
      const { deliveries: [first = assert.fail(), second = assert.fail()], subscription: { id } } = yield* many(4, 2)
      yield* outbox.drop(first, failed)
      yield* outbox.confirm(second.id)
      yield* outbox.flush
      yield* redelivery.resend(id, [{ sequence: 1 }, { sequence: 2 }])
      const { deliveries: [recovered = assert.fail(), resent = assert.fail()] } = yield* backlog(id)
      assert.isFalse(yield* outbox.split(recovered, tooLarge))
      yield* outbox.drop(resent, failed)
      assert.isFalse(yield* outbox.split(recovered, tooLarge))
      yield* redelivery.recover(id, { sequence: 2 }, 1)
      yield* outbox.confirm(recovered.id)
      const { deliveries: [again = assert.fail()] } = yield* backlog(id)
      assert.isFalse(yield* outbox.split(again, tooLarge))
      assert.deepStrictEqual(yield* numbered(id), [[2, "b2,b1"]])
      assert.strictEqual((yield* backlog(id)).nextSequence, 3)
    }))

  it.effect("splits no accepted part again, because its sequence is known", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries: [first = assert.fail()], subscription: { id } } = yield* many(4)
      assert.isTrue(yield* outbox.split(first, tooLarge))
      const { deliveries: [, newer = assert.fail()] } = yield* backlog(id)
      yield* outbox.confirmPart(newer.id)
      yield* Redelivery.use((redelivery) => redelivery.resend(id, [{ sequence: 2 }]))
      const { deliveries: [older = assert.fail(), resent = assert.fail()] } = yield* backlog(id)
      assert.isFalse(yield* outbox.split(resent, tooLarge))
      assert.isFalse(yield* outbox.split(older, tooLarge))
      assert.deepStrictEqual(yield* numbered(id), [[1, "a2,a1"], [2, "a4,a3"]])
    }))

  it.effect("splits a recovered delivery ahead of undelivered ones", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries: [first = assert.fail(), second = assert.fail()], subscription: { id } } = yield* many(2, 1, 1)
      yield* outbox.drop(first, failed)
      yield* outbox.drop(second, failed)
      yield* Redelivery.use((redelivery) => redelivery.recover(id, { sequence: 1 }, 1))
      const { deliveries: [again = assert.fail()] } = yield* backlog(id)
      assert.isTrue(yield* outbox.split(again, tooLarge))
      assert.deepStrictEqual(yield* numbered(id), [[1, "a1"], [2, "a2"], [4, "c1"]])
    }))

  it.effect("numbers without a gap when entries are found during a split", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries: [first = assert.fail()], resource, subscription } = yield* many(4)
      yield* Effect.all([
        Effect.forEach(Array.from({ length: 20 }), (_, i) => record(found(resource, [entry(`e${i}`)])), {
          concurrency: "unbounded"
        }),
        Effect.map(outbox.split(first, tooLarge), (isSplit) => assert.isTrue(isSplit))
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), Array.from({ length: 22 }, (_, i) => i + 1))
      assert.deepStrictEqual((yield* numbered(subscription.id)).slice(0, 2), [[1, "a2,a1"], [2, "a4,a3"]])
    }))
}

const stalling = (it: Vitest.MethodsNonLive<Stores>) => {
  const stalledOf = (partitions: ReadonlyArray<number>, before: number, ids: ReadonlyArray<number>) =>
    Effect.map(
      Outbox.use((outbox) => outbox.findStalled(partitions, before)),
      (rows) =>
        rows.filter(({ subscriptionId }) => ids.includes(subscriptionId))
          .toSorted((a, b) => a.subscriptionId - b.subscriptionId)
    )

  it.effect("measures what waits, and since when", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const before = yield* outbox.measure
      const { deliveries } = yield* queued(2, { partition: 24 })
      const after = yield* outbox.measure
      const [first] = deliveries
      assert.strictEqual(after.waiting, before.waiting + 2)
      assert.isAtMost(after.oldestAt ?? Infinity, first?.waitsSince ?? 0)
      yield* Effect.forEach(deliveries, ({ id }) => outbox.confirm(id), { discard: true })
      yield* outbox.flush
      assert.strictEqual((yield* outbox.measure).waiting, before.waiting)
    }))

  it.effect("finds each active subscription of these partitions once, whose waiting deliveries were due before", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const a = yield* queued(3, { partition: 21 })
      const b = yield* queued(1, { partition: 22 })
      const c = yield* queued(1, { partition: 23 })
      const ids = [a, b, c].map(({ subscription }) => subscription.id)
      const [ofA, ofB] = [a, b].map(({ resource, subscription }) => ({
        partition: resource.partition,
        subscriptionId: subscription.id
      }))
      assert.deepStrictEqual(yield* stalledOf([21, 22], 10_000, ids), [ofA, ofB])
      assert.deepStrictEqual(yield* stalledOf([21, 22], 1_000, ids), []) // due at 1,000
      assert.deepStrictEqual(yield* stalledOf([21], 1_001, ids), [ofA])
      assert.deepStrictEqual(yield* stalledOf([], 10_000, ids), [])
      yield* outbox.drop(b.deliveries[0] ?? assert.fail(), failed)
      for (const { id } of a.deliveries) yield* outbox.confirm(id)
      yield* outbox.flush
      assert.deepStrictEqual(yield* stalledOf([21, 22], 10_000, ids), [])
    }))

  it.effect("finds no subscription whose first delivery is due later, however long the others have waited", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries: [first], subscription } = yield* queued(3, { partition: 27 })
      yield* outbox.postpone(first ?? assert.fail(), 60_000, failed)
      assert.deepStrictEqual(yield* stalledOf([27], 60_000, [subscription.id]), [])
      assert.strictEqual((yield* stalledOf([27], 60_001, [subscription.id])).length, 1)
      assert.strictEqual((yield* stalledOf([27], 8e15, [subscription.id])).length, 1)
    }))

  it.effect("leaves paused subscriptions alone", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id, { partition: 24 })
      const { resource, subscription } = yield* subscribe(wanted)
      yield* at(1_000)(record(found(resource, [entry("a")])))
      yield* subscribe({ ...wanted, state: "paused" })
      assert.deepStrictEqual(yield* stalledOf([24], 10_000, [subscription.id]), [])
      assert.deepStrictEqual(yield* sequencesOf(subscription.id), [1])
    }))
}
