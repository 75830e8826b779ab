import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Delivery } from "#domain/Notification.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
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
        const common = { subscriptionId: id, topic, endpoint, sequence: 1 }
        const last = { ...common, attempt: 2, failedAt: 15_100, ...silent }
        const first = { ...common, attempt: 1, failedAt: 10_000, ...refused, nextTry: 15_000 }
        assert.deepStrictEqual(yield* list({ accountId: account.id, limit: 10 }), [last, first])
        assert.deepStrictEqual(yield* list({ accountId: account.id, limit: 1 }), [last])
        const ids = (yield* list({ limit: 100_000 })).map(({ subscriptionId }) => subscriptionId)
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
        assert.deepStrictEqual(kept.map(({ attempt }) => attempt), Array.from({ length: 64 }, (_, i) => 200 - i))
        yield* SubscriptionStore.use((store) => store.remove(subscription.id))
        assert.deepStrictEqual(yield* list({ accountId: account.id, limit: 10 }), [])
      }))
  })
}
