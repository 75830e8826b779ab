import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { DeliveryLog, type LoggedAttempt, type LoggedDenial } from "#domain/ports/DeliveryLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { at, entry, found, newSubscription, record, type Stores } from "#test/support/StoreFixture.ts"

const refused = { code: 503, message: "The callback answered 503: busy", latency: 12 }
const silent = { code: 0, message: "no answer within 10 s" }

const queued = Effect.gen(function*() {
  const made = yield* newSubscription()
  const [delivery = assert.fail()] = yield* record(found(made.resource, [entry("a")]))
  return { ...made, delivery }
})

/** Those of subscriptions that stand, or stood. */
const tries = (log: ReadonlyArray<LoggedAttempt | LoggedDenial>) =>
  log.flatMap((one) => one.outcome === "denied" ? [] : [one])

/** What every `DeliveryLog` keeps of its promises. */
export const deliveryLogSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("DeliveryLog", () => {
    it.effect("lists the tries that failed, newest first, those of one account or all, and what comes next", () =>
      Effect.gen(function*() {
        const outbox = yield* Outbox
        const { list } = yield* DeliveryLog
        const { account, delivery, subscription } = yield* queued
        const other = yield* queued
        yield* at(10_000)(outbox.postpone(delivery, 15_000, refused))
        yield* at(20_000)(outbox.postpone(other.delivery, 25_000, silent))
        yield* at(15_100)(outbox.drop({ ...delivery, attempt: 1, dueAt: 15_000 }, silent))
        const { endpoint, id, topic } = subscription
        const common = { outcome: "failed" as const, subscriptionId: id, topic, endpoint, sequence: 1 }
        const last = { ...common, attempt: 2, triedAt: 15_100, ...silent }
        const first = { ...common, attempt: 1, triedAt: 10_000, ...refused, nextTry: 15_000 }
        assert.deepStrictEqual(yield* list({ accountId: account.id, limit: 10 }), [last, first])
        assert.deepStrictEqual(yield* list({ accountId: account.id, limit: 1 }), [last])
        const ids = tries(yield* list({ limit: 100_000 })).map(({ subscriptionId }) => subscriptionId)
        assert.includeMembers(ids, [id, other.subscription.id])
        yield* outbox.confirm(other.delivery.id)
        yield* outbox.flush
        assert.strictEqual((yield* list({ accountId: other.account.id, limit: 10 })).length, 1)
      }))

    it.effect("keeps 64 tries of a subscription, and the newest of them", () =>
      Effect.gen(function*() {
        const outbox = yield* Outbox
        const { account, delivery, subscription } = yield* queued
        for (let attempt = 0; attempt < 200; attempt++) {
          const tried: Delivery = { ...delivery, attempt }
          yield* at(1_000 * attempt)(outbox.postpone(tried, 1_000 * attempt + 500, refused))
        }
        const { list } = yield* DeliveryLog
        const kept = yield* list({ accountId: account.id, limit: 1_000 })
        assert.deepStrictEqual(tries(kept).map(({ attempt }) => attempt), Array.from({ length: 64 }, (_, i) => 200 - i))
        yield* SubscriptionStore.use((store) => store.remove(subscription.id))
        assert.deepStrictEqual(yield* list({ accountId: account.id, limit: 10 }), [])
      }))

    it.effect("keeps the last success of a subscription, beside its failures", () =>
      Effect.gen(function*() {
        const { recordDelivery, flush, list } = yield* DeliveryLog
        const outbox = yield* Outbox
        const { account, delivery, subscription } = yield* queued
        const { endpoint, id, topic } = subscription
        yield* at(1_000)(outbox.postpone(delivery, 6_000, refused))
        yield* at(6_000)(
          recordDelivery({ ...delivery, attempt: 1 }, { status: 200, latency: 3.4, excerpt: "ok\u0000" })
        )
        yield* at(7_000)(recordDelivery({ ...delivery, sequence: 2 }, { status: 204, latency: 7.6, excerpt: "" }))
        yield* flush
        const common = { subscriptionId: id, topic, endpoint }
        const failure = {
          ...common,
          outcome: "failed",
          sequence: 1,
          attempt: 1,
          triedAt: 1_000,
          ...refused,
          nextTry: 6_000
        }
        const success = {
          ...common,
          outcome: "delivered",
          sequence: 2,
          attempt: 1,
          triedAt: 7_000,
          code: 204,
          latency: 8
        }
        const message = "The callback answered 204."
        assert.deepStrictEqual(yield* list({ accountId: account.id, limit: 10 }), [
          { ...success, message },
          failure
        ] as ReadonlyArray<LoggedAttempt>)
        yield* at(8_000)(recordDelivery({ ...delivery, sequence: 3 }, { status: 200, latency: 1, excerpt: "thanks" }))
        yield* flush
        const [newest] = yield* list({ accountId: account.id, limit: 1 })
        assert.deepInclude(newest, { sequence: 3, triedAt: 8_000, message: "The callback answered 200: thanks" })
      }))

    it.effect("keeps how subscriptions ended, and what callbacks did not agree to, when they are gone", () =>
      Effect.gen(function*() {
        const { recordEnd, list } = yield* DeliveryLog
        const { account, subscription } = yield* queued
        const { endpoint, id, topic } = subscription
        const gone = { topic, endpoint, code: 410, message: "The callback answered 410: gone\u0000", latency: 5 }
        const denied = { topic, endpoint, code: 0, message: "no" }
        const tried = { subscriptionId: id, sequence: 7, attempt: 2 }
        yield* at(1_000)(recordEnd({ outcome: "ended", accountId: account.id, ...tried, ...gone }))
        yield* at(2_000)(recordEnd({ outcome: "denied", accountId: account.id, ...denied }))
        yield* at(3_000)(recordEnd({ outcome: "denied", accountId: 2 ** 30, ...denied }))
        yield* SubscriptionStore.use((store) => store.remove(id))
        const [last, first] = yield* list({ accountId: account.id, limit: 10 })
        assert.deepStrictEqual(last, { outcome: "denied", triedAt: 2_000, ...denied })
        assert.deepInclude(first, { outcome: "ended", triedAt: 1_000, ...tried, code: 410, latency: 5 })
        assert.include(first?.message, "The callback answered 410: gone")
      }))
  })
}
