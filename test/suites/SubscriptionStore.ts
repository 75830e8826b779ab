import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Outbox } from "#domain/ports/Outbox.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import {
  at,
  entry,
  found,
  newAccount,
  newSubscription,
  record,
  type Stores,
  subscribe,
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"

/** What every `SubscriptionStore` keeps of its promises. */
export const subscriptionStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("SubscriptionStore", () => {
    subscribing(it)
    finding(it)
    listing(it)
  })
}

const subscribing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("makes the resource when it is new, due now", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id, { partition: 255 })
      const { created, resource } = yield* at(1_700_000_000_123)(subscribe(wanted))
      assert.strictEqual(created, true)
      const { id: _, ...made } = resource
      assert.deepStrictEqual(made, {
        url: wanted.topic.canonical,
        host: wanted.topic.host,
        partition: 255,
        nextFetch: 1_700_000_000_123,
        period: 900,
        failures: 0,
        kind: "unknown",
        inError: false,
        seen: new Uint8Array(),
        slices: new Uint8Array(),
        generatedIds: false,
        entriesSinceMaintenance: 0,
        subscribers: 1
      })
      assert.deepStrictEqual(yield* ResourceStore.use((store) => store.load(resource.id)), Option.some(resource))
    }))

  it.effect("gives back every field of the subscription", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id, {
        channel: "xmpp",
        endpoint: "anné@jabber.example",
        host: "jabber.example",
        format: "json",
        secret: "s3cret \u{1f985}'\"",
        face: "hub",
        state: "pending",
        leaseUntil: 1_800_000_000_001
      })
      const { resource, subscription } = yield* at(1_700_000_000_456)(
        subscribe({ ...wanted, topic: { ...wanted.topic, given: "HTTPS://Given.example/%7e?é" } })
      )
      const { id, ...made } = subscription
      assert.deepStrictEqual(made, {
        accountId: account.id,
        resourceId: resource.id,
        topic: "HTTPS://Given.example/%7e?é",
        channel: "xmpp",
        endpoint: "anné@jabber.example",
        host: "jabber.example",
        format: "json",
        secret: "s3cret \u{1f985}'\"",
        face: "hub",
        state: "pending",
        leaseUntil: 1_800_000_000_001,
        createdAt: 1_700_000_000_456
      })
      assert.deepStrictEqual(yield* SubscriptionStore.use((store) => store.load(id)), Option.some(subscription))
    }))

  it.effect("gives an existing one its new format, secret, lease, state and spelling, and keeps the rest", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const bare = wantedBy(account.id, { state: "pending" })
      const wanted = { ...bare, format: "atom" as const, secret: "old", leaseUntil: 5_000 }
      const first = yield* at(1_000)(subscribe(wanted))
      const again = yield* at(2_000)(subscribe({
        ...bare,
        format: "json",
        secret: "new",
        leaseUntil: 9_000,
        state: "active",
        topic: { ...bare.topic, given: "HTTPS://other.example/" }
      }))
      assert.deepStrictEqual([first.created, again.created], [true, false])
      assert.deepStrictEqual(again.subscription, {
        ...first.subscription,
        format: "json",
        secret: "new",
        leaseUntil: 9_000,
        state: "active",
        topic: "HTTPS://other.example/"
      })
      assert.strictEqual(again.resource.nextFetch, 1_000)
      const { format: _, leaseUntil: __, secret: ___, ...cleared } = first.subscription
      assert.deepStrictEqual((yield* subscribe(bare)).subscription, cleared)
    }))

  it.effect("keeps resource, account, endpoint and face apart", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newAccount, yield* newAccount]
      const wanted = wantedBy(one.id)
      const made = yield* Effect.forEach([
        wanted,
        { ...wanted, face: "hub" as const },
        { ...wanted, endpoint: `${wanted.endpoint}/` },
        { ...wanted, accountId: two.id },
        { ...wanted, topic: wantedBy(one.id).topic }
      ], subscribe)
      assert.deepStrictEqual(made.map(({ created }) => created), made.map(() => true))
      assert.strictEqual(new Set(made.map(({ subscription }) => subscription.id)).size, 5)
      assert.strictEqual(new Set(made.map(({ resource }) => resource.id)).size, 2)
    }))

  it.effect("makes one of many that are asked for at the same time", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const made = yield* Effect.all(Array.from({ length: 8 }, () => subscribe(wanted)), { concurrency: "unbounded" })
      assert.strictEqual(new Set(made.map(({ subscription }) => subscription.id)).size, 1)
      assert.strictEqual(made.filter(({ created }) => created).length, 1)
      const others = yield* Effect.all(
        Array.from({ length: 8 }, (_, i) => subscribe({ ...wanted, endpoint: `https://callback.example/${i}` })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(new Set(others.map(({ resource }) => resource.id)), new Set([made[0]?.resource.id]))
    }))

  it.effect("keeps the sequence of a subscription that is made again, and begins anew after a removal", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const { resource, subscription } = yield* subscribe(wanted)
      yield* record(found(resource, [entry("a")]))
      yield* subscribe({ ...wanted, format: "json" })
      assert.deepStrictEqual((yield* record(found(resource, [entry("b")])))[0]?.sequence, 2)
      const store = yield* SubscriptionStore
      yield* store.remove(subscription.id)
      const anew = yield* subscribe(wanted)
      assert.strictEqual(anew.created, true)
      assert.strictEqual(anew.resource.id, resource.id)
      const [delivery] = yield* record(found(resource, [entry("c")]))
      assert.deepStrictEqual([delivery?.subscriptionId, delivery?.sequence], [anew.subscription.id, 1])
    }))

  it.effect("removes once, and cancels what is queued for it alone", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const { resource, subscription } = yield* subscribe(wanted)
      const kept = yield* subscribe({ ...wanted, endpoint: "https://kept.example/" })
      yield* record(found(resource, [entry("a")]))
      const store = yield* SubscriptionStore
      const outbox = yield* Outbox
      assert.deepStrictEqual([yield* store.remove(subscription.id), yield* store.remove(subscription.id)], [
        true,
        false
      ])
      assert.deepStrictEqual(yield* store.load(subscription.id), Option.none())
      assert.deepStrictEqual((yield* outbox.backlog(subscription.id, 5)).deliveries, [])
      assert.strictEqual((yield* outbox.backlog(kept.subscription.id, 5)).deliveries.length, 1)
      assert.strictEqual(yield* store.remove(2 ** 40), false)
    }))
}

const finding = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("finds an account's subscriptions to a topic, oldest first", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newAccount, yield* newAccount]
      const wanted = wantedBy(one.id)
      const first = yield* subscribe(wanted)
      const second = yield* subscribe({ ...wanted, endpoint: "https://a.example/", state: "pending" })
      yield* subscribe({ ...wanted, accountId: two.id })
      yield* subscribe({ ...wanted, state: "paused" }) // the first again
      const store = yield* SubscriptionStore
      assert.deepStrictEqual(yield* store.ofTopic(one.id, wanted.topic.canonical), [
        { ...first.subscription, state: "paused" },
        second.subscription
      ])
      assert.deepStrictEqual(yield* store.ofTopic(one.id, "https://nobody.example/"), [])
      assert.deepStrictEqual(yield* store.ofTopic(one.id, "https://nobody.example/\u0000"), [])
    }))

  it.effect("finds an account's subscriptions of an endpoint, oldest first, as many as are asked for", () =>
    Effect.gen(function*() {
      const [one, two] = [yield* newAccount, yield* newAccount]
      const endpoint = `https://callback.example/${unique("e")}`
      const made = yield* Effect.forEach([1, 2, 3], () => subscribe(wantedBy(one.id, { endpoint })))
      yield* subscribe(wantedBy(two.id, { endpoint }))
      yield* subscribe(wantedBy(one.id, { endpoint: `${endpoint}/` }))
      const store = yield* SubscriptionStore
      const all = made.map(({ subscription }) => subscription)
      assert.deepStrictEqual(yield* store.ofEndpoint(one.id, endpoint, 10), all)
      assert.deepStrictEqual(yield* store.ofEndpoint(one.id, endpoint, 2), all.slice(0, 2))
      assert.deepStrictEqual(yield* store.ofEndpoint(one.id, `${endpoint}\u0000`, 2), [])
    }))

  it.effect("answers many loads at once, each with its own", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const made = yield* Effect.forEach(Array.from({ length: 20 }), () => subscribe(wantedBy(account.id)))
      const store = yield* SubscriptionStore
      const ids = [...made.map(({ subscription }) => subscription.id), 2 ** 40]
      const loaded = yield* Effect.forEach(ids, store.load, { concurrency: "unbounded" })
      assert.deepStrictEqual(loaded, [...made.map(({ subscription }) => Option.some(subscription)), Option.none()])
    }))
}

const listing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("lists oldest first, page by page, and nothing past the last", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      yield* newSubscription()
      const made = yield* Effect.forEach(
        ["active", "pending", "paused", "active", "active"] as const,
        (state) => subscribe(wantedBy(account.id, { state }))
      )
      const store = yield* SubscriptionStore
      const page = Effect.fnUntraced(function*(page: number, byPage: number) {
        const { items, total } = yield* store.list({ accountId: account.id, page, byPage })
        assert.strictEqual(total, 5)
        return items.map(({ subscription }) => subscription)
      })
      const all = made.map(({ subscription }) => subscription)
      assert.deepStrictEqual(yield* page(1, 2), all.slice(0, 2))
      assert.deepStrictEqual(yield* page(2, 2), all.slice(2, 4))
      assert.deepStrictEqual(yield* page(3, 2), all.slice(4))
      assert.deepStrictEqual(yield* page(4, 2), [])
      assert.deepStrictEqual(yield* page(1, 500), all)
      assert.deepStrictEqual(yield* page(1_000_000, 500), [])
    }))

  it.effect("shows the resource as it is, and what waits and was dropped", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const { resource, subscription } = yield* subscribe(wanted)
      const state = { ...resource, code: 200, header: { title: { value: "Feed", type: "text" } } }
      const deliveries = [
        ...(yield* record(found(state, [entry("a")]))),
        ...(yield* record(found(state, [entry("b")]))),
        ...(yield* record(found(state, [entry("c")])))
      ]
      yield* Outbox.use((outbox) => outbox.drop(deliveries[0] ?? assert.fail(), { code: 500, message: "It failed." }))
      const store = yield* SubscriptionStore
      assert.deepStrictEqual(yield* store.list({ accountId: account.id, page: 1, byPage: 20 }), {
        items: [{ subscription, resource: state, waiting: 2, dropped: 1 }],
        total: 1
      })
    }))

  it.effect("has nothing for an account without subscriptions", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      assert.deepStrictEqual(yield* store.list({ accountId: account.id, page: 1, byPage: 20 }), { items: [], total: 0 })
    }))
}
