import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Retention } from "#domain/ports/Retention.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import {
  at,
  entry,
  found,
  idsOf,
  newSubscription,
  record,
  type Stores,
  subscribe,
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"

const load = (id: number) => Effect.map(SubscriptionStore.use((store) => store.load(id)), Option.getOrThrow)

const backlog = (id: number) => Outbox.use((outbox) => outbox.backlog(id, 100))

/** Waiting and dropped deliveries of the only subscription of an account. */
const countsOf = (accountId: number) =>
  Effect.map(
    SubscriptionStore.use((store) => store.list({ accountId, page: 1, byPage: 10, counted: true })),
    ({ items }) => items[0]?.deliveries
  )

/** What every `SubscriptionHealth` keeps of its promises. */
export const subscriptionHealthSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("SubscriptionHealth", () => {
    failing(it)
    showing(it)
    pausing(it)
  })
}

const failing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("keeps the failing of many subscriptions at once, and forgets it", () =>
    Effect.gen(function*() {
      const health = yield* SubscriptionHealth
      const [a, b] = [yield* newSubscription(), yield* newSubscription()]
      const since = 1_700_000_000_001
      yield* Effect.all([
        health.saveFailing(a.subscription.id, { since, announced: 0 }),
        health.saveFailing(b.subscription.id, { since: since + 1, announced: 2 })
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual((yield* load(a.subscription.id)).failing, { since, announced: 0 })
      assert.deepStrictEqual((yield* load(b.subscription.id)).failing, { since: since + 1, announced: 2 })
      yield* health.saveFailing(b.subscription.id, undefined)
      assert.deepStrictEqual(yield* load(b.subscription.id), b.subscription)
    }))

  it.effect("keeps the failing of an active subscription that is renewed, and forgets it with the end of a pause", () =>
    Effect.gen(function*() {
      const health = yield* SubscriptionHealth
      const wanted = wantedBy((yield* newSubscription()).account.id)
      const { subscription: { id } } = yield* subscribe(wanted)
      const failing = { since: 1_700_000_000_001, announced: 1 }
      yield* health.saveFailing(id, failing)
      assert.deepStrictEqual((yield* subscribe(wanted)).subscription.failing, failing)
      assert.isTrue(yield* health.pause(id))
      const { state, failing: left } = (yield* subscribe(wanted)).subscription
      assert.deepStrictEqual([state, left], ["active", undefined])
    }))

  it.effect("keeps the retries of a subscription, until it is renewed without them", () =>
    Effect.gen(function*() {
      const wanted = wantedBy((yield* newSubscription()).account.id)
      for (const retry of ["short", "days"] as const) {
        const { subscription } = yield* subscribe({ ...wanted, retry })
        assert.strictEqual((yield* load(subscription.id)).retry, retry)
      }
      assert.isFalse("retry" in (yield* subscribe(wanted)).subscription)
    }))

  it.effect("holds back the first waiting delivery, and no other", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { resource, subscription } = yield* newSubscription()
      for (const id of ["a", "b"]) yield* at(1_000)(record(found(resource, [entry(id)])))
      yield* outbox.hold(subscription.id, 50_000, 40_000)
      const { deliveries } = yield* backlog(subscription.id)
      assert.deepStrictEqual(deliveries.map(({ attempt, dueAt, requestedWait }) => [attempt, dueAt, requestedWait]), [
        [0, 50_000, 40_000],
        [0, 1_000, undefined]
      ])
    }))
}

const showing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("shows the next attempt and the last success in a counted list", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const log = yield* DeliveryLog
      const { account, resource, subscription } = yield* newSubscription()
      const times = Effect.map(
        SubscriptionStore.use((store) => store.list({ accountId: account.id, page: 1, byPage: 1, counted: true })),
        ({ items: [item] }) => [item?.nextTryAt, item?.lastSuccessAt]
      )
      assert.deepStrictEqual(yield* times, [undefined, undefined])
      for (const id of ["a", "b"]) yield* at(1_700_000_000_000)(record(found(resource, [entry(id)])))
      const [a, b] = (yield* backlog(subscription.id)).deliveries
      yield* at(1_700_000_001_000)(log.recordDelivery(a ?? assert.fail(), { code: 204, message: "", latency: 1 }))
      yield* at(1_700_000_001_000)(log.flush)
      yield* outbox.confirm(a?.id ?? 0)
      yield* outbox.flush
      yield* outbox.postpone(b ?? assert.fail(), 1_700_000_009_000, { code: 500, message: "", reason: "server-error" })
      assert.deepStrictEqual(yield* times, [1_700_000_009_000, 1_700_000_001_000])
      yield* SubscriptionHealth.use((health) => health.pause(subscription.id))
      assert.deepStrictEqual(yield* times, [undefined, 1_700_000_001_000])
    }))
}

const pausing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("records the notifications of a paused webhook as dropped, numbered as ever", () =>
    Effect.gen(function*() {
      const health = yield* SubscriptionHealth
      const { account, resource, subscription } = yield* newSubscription()
      assert.strictEqual((yield* record(found(resource, [entry("a")]))).length, 1)
      assert.isTrue(yield* health.pause(subscription.id))
      assert.isFalse(yield* health.pause(subscription.id))
      assert.deepStrictEqual(yield* record(found(resource, [entry("b")])), [])
      assert.deepStrictEqual(yield* countsOf(account.id), { waiting: 1, dropped: 1 })
      assert.strictEqual((yield* health.resume(subscription.id))?.id, subscription.id)
      const [c] = yield* record(found(resource, [entry("c")]))
      assert.strictEqual(c?.sequence, 3)
      assert.deepStrictEqual((yield* backlog(subscription.id)).deliveries.map((one) => [one.sequence, idsOf(one)]), [
        [1, ["a"]],
        [3, ["c"]]
      ])
    }))

  it.effect("keeps the resource of a paused webhook polled", () =>
    Effect.gen(function*() {
      const { resource, subscription } = yield* newSubscription({ partition: 25 })
      yield* SubscriptionHealth.use((health) => health.pause(subscription.id))
      const { ids } = yield* ResourceStore.use((store) => store.alarms(25))
      assert.include([...ids], resource.id)
    }))

  it.effect("resumes with waits and a failing that begin anew", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const health = yield* SubscriptionHealth
      const { resource, subscription } = yield* newSubscription()
      for (const id of ["a", "b"]) yield* at(1_000)(record(found(resource, [entry(id)])))
      const [first] = (yield* backlog(subscription.id)).deliveries
      yield* outbox.postpone({ ...first ?? assert.fail(), requestedWait: 9_000 }, 9_000_000, { code: 500, message: "" })
      yield* health.saveFailing(subscription.id, { since: 1_000, announced: 2 })
      yield* health.pause(subscription.id)
      assert.deepStrictEqual(yield* at(5_000)(health.resume(subscription.id)), {
        id: subscription.id,
        resourceId: resource.id,
        partition: resource.partition
      })
      assert.deepStrictEqual(yield* load(subscription.id), {
        ...subscription,
        failing: { since: 5_000, announced: 1 }
      })
      const { deliveries } = yield* backlog(subscription.id)
      assert.deepStrictEqual(
        deliveries.map(({ attempt, dueAt, requestedWait, waitsSince }) => [attempt, dueAt, waitsSince, requestedWait]),
        [[0, 5_000, 5_000, undefined], [0, 5_000, 5_000, undefined]]
      )
    }))

  it.effect("resumes a JID with its bounces forgotten, and no pending or unknown subscription", () =>
    Effect.gen(function*() {
      const health = yield* SubscriptionHealth
      const bounces = yield* BounceStore
      const jid = `${unique("ann")}@example.net`
      const { account, resource, subscription } = yield* newSubscription({ channel: "xmpp", endpoint: jid })
      yield* record(found(resource, [entry("a")]))
      yield* bounces.record({
        subscriptionId: subscription.id,
        sequence: 1,
        from: jid,
        severity: "lasting",
        message: "gone"
      })
      yield* bounces.pause(subscription.id, 9e12)
      assert.strictEqual((yield* health.resume(subscription.id))?.resourceId, resource.id)
      const { items } = yield* SubscriptionStore.use((store) =>
        store.list({ accountId: account.id, page: 1, byPage: 1, counted: true })
      )
      assert.deepStrictEqual([items[0]?.subscription.state, items[0]?.bounces], ["active", undefined])
      const pending = yield* newSubscription({ state: "pending" })
      assert.strictEqual(yield* health.resume(pending.subscription.id), undefined)
      assert.strictEqual(yield* health.resume(2 ** 40), undefined)
    }))

  it.effect("deletes the waiting deliveries of a paused subscription by age, and those of an active one never", () =>
    Effect.gen(function*() {
      const health = yield* SubscriptionHealth
      const made = [yield* newSubscription({ partition: 26 }), yield* newSubscription({ partition: 26 })] as const
      for (const { resource } of made) {
        for (const id of ["a", "b"]) yield* at(id === "a" ? 1_000 : 2_000)(record(found(resource, [entry(id)])))
      }
      const [paused, active] = made
      yield* health.pause(paused.subscription.id)
      assert.strictEqual(yield* Retention.use((retention) => retention.pruneDeliveries(26, 2_000, 10)), 1)
      assert.deepStrictEqual(yield* countsOf(paused.account.id), { waiting: 1, dropped: 0 })
      assert.deepStrictEqual(yield* countsOf(active.account.id), { waiting: 2, dropped: 0 })
    }))
}
