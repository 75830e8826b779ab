import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import {
  type RecoveryStart,
  Redelivery,
  type SequencedNotification,
  type UndeliveredPosition
} from "#domain/ports/Redelivery.ts"
import { Replays } from "#domain/ports/Replays.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
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
  wantedBy
} from "#test/support/StoreFixture.ts"

/** Listing, recovery and repetition of notifications by every `Redelivery`. */
export const redeliverySuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("Redelivery", () => {
    listing(it)
    recovering(it)
    reading(it)
    resending(it)
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
      assert.deepStrictEqual(yield* recovered({ sequence: 3 }, 10), [1, true])
    }))

  it.effect("finds nothing of a removed subscription", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* Redelivery.use((redelivery) => redelivery.recover(987_654_321, undefined, 10)))
    }))
}

const status = { code: 200, http: "Fetched (ring) 200 900", period: 900 }

const replayed = { status, news: { _tag: "Entries", ids: ["e1"] } } as const

const replay = (subscriptionId: number) =>
  Replays.use((replays) => replays.enqueue(subscriptionId, replayed, { count: 100, bytes: 1_000 }))

const confirmAll = (subscriptionId: number) =>
  Outbox.use((outbox) =>
    Effect.gen(function*() {
      const { deliveries } = yield* outbox.backlog(subscriptionId, 100)
      for (const { id, isPart } of deliveries) yield* isPart === true ? outbox.confirmPart(id) : outbox.confirm(id)
      yield* outbox.flush
      return deliveries
    })
  )

const read = (subscriptionId: number, after: number, limits = { count: 100, bytes: 1_000_000 }) =>
  Redelivery.use((redelivery) => redelivery.readAfter(subscriptionId, after, limits))

const describeItems = (items: ReadonlyArray<SequencedNotification>) =>
  items.map(({ isPart, notification: { news }, sequence }) =>
    `${sequence}${isPart ? " part" : ""} ${
      news._tag === "Entries" ? news.entries.map(({ id }) => id).join() : news._tag
    }`
  )

const reading = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("reads delivered, dropped and waiting notifications by sequence, as they are sent", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { deliveries, subscription: { id } } = yield* queued(4)
      const [first, second, third] = deliveries
      if (first === undefined || second === undefined || third === undefined) return assert.fail()
      yield* outbox.confirm(first.id)
      yield* outbox.confirm(third.id)
      yield* outbox.flush
      yield* outbox.drop(second, failed)
      const sent = deliveries.map(({ notification, sequence }) => ({ sequence, isPart: false, notification }))
      assert.deepStrictEqual(yield* read(id, 0), { items: sent, lastSequence: 4 })
      assert.deepStrictEqual(yield* read(id, 2), { items: sent.slice(2), lastSequence: 4 })
      assert.deepStrictEqual(yield* read(id, 4), { items: [], lastSequence: 4 })
      assert.deepStrictEqual(yield* read(id, 9), { items: [], lastSequence: 4 })
    }))

  it.effect("ends a page by count and by bytes, and shows one notification at least", () =>
    Effect.gen(function*() {
      const { resource, subscription: { id } } = yield* newSubscription()
      for (let i = 1; i <= 4; i++) {
        yield* record(found(resource, [entry(`e${i}`, { title: { value: "x".repeat(1_000), type: "text" } })]))
      }
      yield* confirmAll(id)
      const page = (after: number, count: number, bytes: number) =>
        Effect.map(read(id, after, { count, bytes }), ({ items, next }) => [
          items.map(({ sequence }) => sequence),
          next
        ])
      assert.deepStrictEqual(yield* page(0, 2, 1e6), [[1, 2], 2])
      assert.deepStrictEqual(yield* page(2, 2, 1e6), [[3, 4], undefined])
      assert.deepStrictEqual(yield* page(0, 9, 2_500), [[1, 2], 2])
      assert.deepStrictEqual(yield* page(1, 9, 100), [[2], 2])
    }))

  it.effect("keeps sequences and notifications together over replays, pauses and splits", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const made = yield* newSubscription()
      const { resource, subscription: { id } } = made
      const wanted = {
        ...wantedBy(made.account.id),
        topic: { given: resource.url, canonical: resource.url, host: resource.host }
      }
      yield* record(found(resource, [entry("e1")]))
      yield* record(found(resource, [entry("e2")]))
      yield* confirmAll(id)
      yield* replay(id)
      yield* confirmAll(id)
      yield* record(found(resource, [entry("e3")]))
      yield* replay(id)
      yield* replay(id)
      yield* confirmAll(id)
      yield* subscribe({ ...wanted, state: "paused", channel: "xmpp" })
      yield* record(found(resource, [entry("missed")]))
      yield* subscribe({ ...wanted, state: "active" })
      yield* record(found(resource, [entry("e4")]))
      yield* record(found(resource, [entry("a"), entry("b"), entry("c")]))
      yield* record(found(resource, [entry("e5")]))
      const { deliveries } = yield* outbox.backlog(id, 10)
      const whole = deliveries.find(({ notification: { news } }) =>
        news._tag === "Entries" && news.entries.length === 3
      )
      if (whole === undefined) return assert.fail()
      yield* outbox.split(whole, failed)
      const waiting = yield* read(id, 0)
      yield* confirmAll(id)
      yield* record(found(resource, [entry("e6")]))
      yield* replay(id)
      yield* confirmAll(id)
      yield* record(found(resource, [entry("e7")]))
      yield* confirmAll(id)
      const expected = [
        "1 e1",
        "2 e2",
        "4 e3",
        "7 e4",
        "8 part a",
        "9 part c,b",
        "10 e5",
        "11 e6",
        "13 e7"
      ]
      assert.deepStrictEqual(describeItems(waiting.items), expected.slice(0, 7))
      const { items, lastSequence } = yield* read(id, 0)
      assert.deepStrictEqual(describeItems(items), expected)
      assert.strictEqual(lastSequence, 13)
      assert.deepStrictEqual(describeItems((yield* read(id, 8)).items), expected.slice(5))
    }))
}

const resending = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("sends delivered, dropped and waiting notifications again, with the same sequence and id", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const redelivery = yield* Redelivery
      const { deliveries, resource, subscription: { id } } = yield* queued(4)
      const [first, second, third, fourth] = deliveries
      if (first === undefined || second === undefined || third === undefined || fourth === undefined) {
        return assert.fail()
      }
      yield* outbox.confirm(first.id)
      yield* outbox.confirm(third.id)
      yield* outbox.flush
      yield* outbox.drop(second, failed)
      yield* outbox.postpone(fourth, 90_000, failed)
      const names = [
        { sequence: 3 },
        { notificationId: first.notification.id },
        { sequence: 2 },
        { notificationId: fourth.notification.id },
        { sequence: 3 },
        { sequence: 2, notificationId: second.notification.id }
      ]
      assert.deepStrictEqual(yield* at(50_000)(redelivery.resend(id, names)), {
        partition: resource.partition,
        sequences: [1, 2, 3, 4],
        missing: []
      })
      const { deliveries: waiting } = yield* outbox.backlog(id, 10)
      assert.deepStrictEqual(
        waiting.map(({ attempt, dueAt, notification, sequence, waitsSince }) =>
          [sequence, notification.id, attempt, dueAt, waitsSince].join(" ")
        ),
        [
          `1 ${first.notification.id} 0 50000 50000`,
          `2 ${second.notification.id} 0 50000 50000`,
          `3 ${third.notification.id} 0 50000 50000`,
          `4 ${fourth.notification.id} 0 50000 4000`
        ]
      )
    }))

  it.effect("names what a subscription did not get, and leaves it alone", () =>
    Effect.gen(function*() {
      const redelivery = yield* Redelivery
      const { deliveries: [other] } = yield* queued(1)
      const { deliveries, subscription: { id } } = yield* queued(2)
      yield* confirmAll(id)
      yield* replay(id)
      yield* confirmAll(id)
      const missing = [
        { sequence: 3 },
        { sequence: 4 },
        { sequence: 99 },
        { notificationId: other?.notification.id ?? 0 },
        { notificationId: 987_654_321 },
        { sequence: 1, notificationId: deliveries[1]?.notification.id ?? 0 }
      ]
      assert.deepStrictEqual(yield* redelivery.resend(id, missing), { partition: 7, sequences: [], missing })
      assert.deepStrictEqual((yield* Outbox.use((outbox) => outbox.backlog(id, 9))).deliveries, [])
      assert.isUndefined(yield* redelivery.resend(987_654_321, [{ sequence: 1 }]))
    }))

  it.effect("sends a delivered part again, and waits for a replay in the outbox", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const redelivery = yield* Redelivery
      const { resource, subscription: { id } } = yield* newSubscription()
      const [whole] = yield* record(found(resource, [entry("e1"), entry("b")]))
      if (whole === undefined) return assert.fail()
      yield* outbox.split(whole, failed)
      yield* confirmAll(id)
      yield* replay(id)
      const { deliveries: [waiting] } = yield* outbox.backlog(id, 1)
      const names = [{ sequence: 2, notificationId: whole.notification.id }, {
        notificationId: waiting?.notification.id ?? 0
      }]
      const resent = yield* redelivery.resend(id, names)
      assert.deepStrictEqual([resent?.sequences, resent?.missing], [[2, 3], []])
      const { deliveries } = yield* outbox.backlog(id, 9)
      assert.deepStrictEqual(deliveries.map((one) => [one.sequence, one.isPart, idsOf(one)]), [
        [2, true, ["b"]],
        [3, undefined, ["e1"]]
      ])
    }))
}
