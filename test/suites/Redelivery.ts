import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { type RecoveryStart, Redelivery, type UndeliveredPosition } from "#domain/ports/Redelivery.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import {
  at,
  entry,
  found,
  newAccount,
  newSubscription,
  record,
  type Stores,
  subscribe,
  wantedBy
} from "#test/support/StoreFixture.ts"

/** Listing, recovery and repetition of notifications by every `Redelivery`. */
export const redeliverySuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("Redelivery", () => {
    listing(it)
    recovering(it)
  })
}

const failed = { code: 503, message: "The callback answered 503." }

/** A subscription with a delivery for each of `count` recorded entries, at 1 s, 2 s, … */
const queued = Effect.fnUntraced(function*(count: number, wanted?: NewSubscription) {
  const made = yield* wanted === undefined ? newSubscription() : subscribe(wanted)
  const deliveries: Array<Delivery> = []
  for (let i = 1; i <= count; i++) {
    deliveries.push(...yield* at(i * 1_000)(record(found(made.resource, [entry(`e${i}`)]))))
  }
  return { ...made, deliveries }
})

const listing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("lists waiting and dropped notifications with the result of their last attempt", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const redelivery = yield* Redelivery
      const { deliveries, subscription } = yield* queued(4)
      const [first, second, third, fourth] = deliveries
      if (first === undefined || second === undefined || third === undefined || fourth === undefined) {
        return assert.fail()
      }
      yield* outbox.drop(first, failed)
      yield* outbox.confirm(second.id)
      yield* outbox.flush
      yield* outbox.postpone(third, 90_000, failed)
      const page = yield* redelivery.undelivered({ accountId: subscription.accountId, limit: 10 })
      const common = { subscriptionId: subscription.id, topic: subscription.topic, endpoint: subscription.endpoint }
      assert.deepStrictEqual(page, {
        items: [
          {
            ...common,
            sequence: 1,
            notificationId: first.notification.id,
            isPart: false,
            state: "dropped",
            attempts: 1,
            failed,
            recordedAt: 1_000
          },
          {
            ...common,
            sequence: 3,
            notificationId: third.notification.id,
            isPart: false,
            state: "waiting",
            attempts: 1,
            nextTry: 90_000,
            failed,
            recordedAt: 3_000
          },
          {
            ...common,
            sequence: 4,
            notificationId: fourth.notification.id,
            isPart: false,
            state: "waiting",
            attempts: 0,
            nextTry: 4_000,
            recordedAt: 4_000
          }
        ]
      })
    }))

  it.effect("pages by subscription and sequence, and shows each notification once", () =>
    Effect.gen(function*() {
      const redelivery = yield* Redelivery
      const outbox = yield* Outbox
      const account = yield* newAccount
      const ids: Array<string> = []
      for (const count of [3, 0, 2, 1]) {
        const { deliveries, subscription } = yield* queued(count, wantedBy(account.id))
        for (const delivery of deliveries) ids.push(`${subscription.id} ${delivery.sequence}`)
        if (deliveries[1] !== undefined) yield* outbox.drop(deliveries[1], failed)
      }
      yield* queued(1)
      for (const limit of [1, 2, 3, 6, 7]) {
        const seen: Array<string> = []
        let after: UndeliveredPosition | undefined
        for (let pages = 0; pages < 10; pages++) {
          const { items, next } = yield* redelivery.undelivered({
            accountId: account.id,
            limit,
            ...(after !== undefined && { after })
          })
          assert.isAtMost(items.length, limit)
          seen.push(...items.map(({ sequence, subscriptionId }) => `${subscriptionId} ${sequence}`))
          after = next
          if (after === undefined) break
        }
        assert.deepStrictEqual(seen, ids, `limit ${limit}`)
      }
    }))

  it.effect("lists one subscription, and none of another account", () =>
    Effect.gen(function*() {
      const redelivery = yield* Redelivery
      const account = yield* newAccount
      const one = yield* queued(2, wantedBy(account.id))
      yield* queued(1, wantedBy(account.id))
      const read = (accountId: number) =>
        Effect.map(
          redelivery.undelivered({ accountId, subscriptionId: one.subscription.id, limit: 100 }),
          ({ items, next }) => [items.map(({ sequence }) => sequence), next]
        )
      assert.deepStrictEqual(yield* read(account.id), [[1, 2], undefined])
      assert.deepStrictEqual(yield* read((yield* newAccount).id), [[], undefined])
    }))
}

const recovering = (it: Vitest.MethodsNonLive<Stores>) => {
  /** Five notifications: 2 and 3 are dropped, 4 is postponed, 1 is delivered. */
  const mixed = Effect.gen(function*() {
    const outbox = yield* Outbox
    const made = yield* queued(5)
    const [first, second, third, fourth] = made.deliveries
    if (first === undefined || second === undefined || third === undefined || fourth === undefined) return assert.fail()
    yield* outbox.confirm(first.id)
    yield* outbox.flush
    yield* outbox.drop(second, failed)
    yield* outbox.drop({ ...third, requestedWait: 5_000 }, failed)
    yield* outbox.postpone({ ...fourth, requestedWait: 5_000 }, 90_000, failed)
    return made
  })

  it.effect("lets dropped notifications wait anew, and makes the next attempt of a waiting one due", () =>
    Effect.gen(function*() {
      const redelivery = yield* Redelivery
      const { deliveries, subscription: { id } } = yield* mixed
      const [second, third, fourth, fifth] = deliveries.slice(1)
      assert.deepStrictEqual(yield* at(60_000)(redelivery.recover(id, undefined, 100)), {
        partition: 7,
        recovered: 2,
        lost: 0,
        isFinished: true
      })
      const { deliveries: waiting } = yield* Outbox.use((outbox) => outbox.backlog(id, 10))
      const again = { attempt: 0, dueAt: 60_000, waitsSince: 60_000 }
      assert.deepStrictEqual<ReadonlyArray<object>>(waiting, [
        { ...second, ...again },
        { ...third, ...again },
        { ...fourth, attempt: 1, dueAt: 60_000 },
        { ...fifth }
      ])
    }))

  it.effect("recovers from a sequence or a time on, the lowest first", () =>
    Effect.gen(function*() {
      const redelivery = yield* Redelivery
      const { subscription: { id } } = yield* mixed
      const recovered = (since: RecoveryStart | undefined, limit: number) =>
        Effect.map(redelivery.recover(id, since, limit), (result) => [result?.recovered, result?.isFinished])
      assert.deepStrictEqual(yield* recovered({ sequence: 4 }, 10), [0, true])
      assert.deepStrictEqual(yield* recovered({ recordedAt: 3_001 }, 10), [0, true])
      assert.deepStrictEqual(yield* recovered({ recordedAt: 2_000 }, 1), [1, false])
      const dropped = (yield* redelivery.undelivered({ accountId: 0, limit: 1 })).items
      assert.deepStrictEqual(dropped, [])
      assert.deepStrictEqual(yield* recovered({ sequence: 3 }, 10), [1, true])
    }))

  it.effect("finds nothing of a removed subscription", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* Redelivery.use((redelivery) => redelivery.recover(987_654_321, undefined, 10)))
    }))
}
