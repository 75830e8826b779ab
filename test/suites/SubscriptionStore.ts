import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option, Result } from "effect"
import { Outbox } from "#domain/ports/Outbox.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { resourceProfileOf, type ResourceState } from "#domain/poll/Resource.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { matchAll, parse, type Search } from "#domain/Search.ts"
import {
  at,
  entry,
  found,
  newAccount,
  newSubscription,
  record,
  type Stores,
  subscribe,
  unchanged,
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"

/** What every `SubscriptionStore` keeps of its promises. */
export const subscriptionStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("SubscriptionStore", () => {
    subscribing(it)
    rotating(it)
    leases(it)
    finding(it)
    listing(it)
    searching(it)
  })
}

const rotating = (it: Vitest.MethodsNonLive<Stores>) => {
  const secretsOf = (
    { previousSecret, previousSecretUntil, secret }: Subscription
  ) => [secret, previousSecret, previousSecretUntil]
  const load = (id: number) => SubscriptionStore.use((store) => store.load(id)).pipe(Effect.map(Option.getOrThrow))

  it.effect("keeps a replaced secret for the requested time, over renewals, until the next rotation", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id, { secret: "one", secretGraceSeconds: 60 })
      const subscribeAt = (ms: number, change: Partial<NewSubscription>) =>
        Effect.map(at(ms)(subscribe({ ...wanted, ...change })), ({ subscription }) => secretsOf(subscription))
      const { subscription } = yield* at(1_000)(subscribe(wanted))
      assert.deepStrictEqual(secretsOf(subscription), ["one", undefined, undefined])
      assert.deepStrictEqual(yield* subscribeAt(2_000, { secret: "two" }), ["two", "one", 62_000])
      assert.deepStrictEqual(yield* subscribeAt(3_000, { secret: "two", secretGraceSeconds: 0 }), [
        "two",
        "one",
        62_000
      ])
      assert.deepStrictEqual(secretsOf(yield* load(subscription.id)), ["two", "one", 62_000])
      assert.deepStrictEqual(yield* subscribeAt(4_000, { secret: "three" }), ["three", "two", 64_000])
      const { secretGraceSeconds: _, ...withoutGrace } = wanted
      const replaced = yield* at(5_000)(subscribe({ ...withoutGrace, secret: "four" }))
      assert.deepStrictEqual(secretsOf(replaced.subscription), ["four", undefined, undefined])
      yield* subscribeAt(6_000, { secret: "five" })
      const { secret: __, ...withoutSecret } = wanted
      const unsigned = yield* at(7_000)(subscribe(withoutSecret))
      assert.deepStrictEqual(secretsOf(unsigned.subscription), [undefined, undefined, undefined])
    }))

  it.effect("rotates the secret of one subscription", () =>
    Effect.gen(function*() {
      const { rotateSecret } = yield* SubscriptionStore
      const { subscription } = yield* newSubscription({ secret: "one" })
      const other = yield* newSubscription({ secret: "other" })
      assert.deepStrictEqual(yield* at(1_000)(rotateSecret(subscription, "two", 5_000)), { previousUntil: 6_000 })
      assert.deepStrictEqual(secretsOf(yield* load(subscription.id)), ["two", "one", 6_000])
      assert.deepStrictEqual(yield* at(2_000)(rotateSecret(subscription, "three", 0)), {})
      assert.deepStrictEqual(secretsOf(yield* load(subscription.id)), ["three", undefined, undefined])
      assert.deepStrictEqual(secretsOf(yield* load(other.subscription.id)), ["other", undefined, undefined])
      const unsigned = yield* newSubscription()
      assert.deepStrictEqual(yield* rotateSecret(unsigned.subscription, "first", 5_000), {})
      yield* SubscriptionStore.use((store) => store.remove(subscription.id))
      assert.isUndefined(yield* rotateSecret(subscription, "four", 0))
    }))

  it.effect("keeps headers that a later request does not name, and replaces all together", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const headers = [["Authorization", "Bearer \u{1f985}"], ["X-Tenant", "7"]] as const
      const subscribeWith = (change: Partial<NewSubscription>) =>
        Effect.map(subscribe({ ...wanted, ...change }), ({ subscription }) => subscription.headers)
      assert.isUndefined(yield* subscribeWith({}))
      assert.deepStrictEqual(yield* subscribeWith({ headers }), headers)
      assert.deepStrictEqual(yield* subscribeWith({ secret: "s" }), headers)
      assert.deepStrictEqual(yield* subscribeWith({ headers: [["X-Tenant", "8"]] }), [["X-Tenant", "8"]])
      assert.isUndefined(yield* subscribeWith({ headers: [] }))
    }))
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
        period: 60,
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
        signature: "sha512",
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
        signature: "sha512",
        face: "hub",
        state: "pending",
        leaseUntil: 1_800_000_000_001,
        createdAt: 1_700_000_000_456
      })
      assert.deepStrictEqual(yield* SubscriptionStore.use((store) => store.load(id)), Option.some(subscription))
    }))

  it.effect("keeps labels that a later request does not name, in their order, and finds each whole", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      const wanted = wantedBy(account.id)
      const { subscription } = yield* subscribe({ ...wanted, labels: ["Tech", "A, \"b\" {c}"] })
      assert.deepStrictEqual(subscription.labels, ["Tech", "A, \"b\" {c}"])
      assert.deepStrictEqual((yield* subscribe(wanted)).subscription, subscription)
      yield* subscribe(wantedBy(account.id))
      const found = (label: string) =>
        Effect.map(
          store.list({
            accountId: account.id,
            page: 1,
            byPage: 9,
            search: Result.getOrThrow(parse([["label", label]], "search"))
          }),
          ({ items }) => items.map(({ subscription }) => subscription.id)
        )
      assert.deepStrictEqual(yield* found("Tech"), [subscription.id])
      assert.deepStrictEqual(yield* found("A, \"b\" {c}"), [subscription.id])
      assert.deepStrictEqual(yield* found("tech"), [])
      assert.strictEqual(yield* store.setLabels(subscription.id, ["News"]), true)
      assert.deepStrictEqual(Option.getOrThrow(yield* store.load(subscription.id)).labels, ["News"])
      assert.deepStrictEqual(yield* found("Tech"), [])
      assert.strictEqual((yield* subscribe({ ...wanted, labels: [] })).subscription.labels, undefined)
      assert.strictEqual(yield* store.setLabels(subscription.id + 1_000_000, ["x"]), false)
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

  it.effect("keeps whether a format is for feeds alone", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      for (const format of ["atom", "json"] as const) {
        const wanted = { ...wantedBy(account.id), format }
        const { resource, subscription } = yield* subscribe({ ...wanted, feedsOnly: true })
        const loaded = Option.getOrThrow(yield* store.load(subscription.id))
        assert.deepStrictEqual([loaded.format, loaded.feedsOnly], [format, true])
        const search = Result.getOrThrow(parse([["format", format]], "search"))
        const found = Effect.map(
          store.list({ accountId: account.id, page: 1, byPage: 9, search }),
          ({ items }) => items.map(({ subscription }) => subscription.id)
        )
        assert.deepStrictEqual(yield* found, [subscription.id])
        yield* record(unchanged({ ...resource, kind: "other" }))
        assert.deepStrictEqual(yield* found, [])
        const again = yield* subscribe(wanted)
        assert.deepStrictEqual([again.subscription.format, again.subscription.feedsOnly], [format, undefined])
        assert.deepStrictEqual(yield* found, [subscription.id])
        yield* store.remove(subscription.id)
      }
    }))

  it.effect("makes none pending that is active, until its lease has ended", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id, { face: "hub", leaseUntil: 5_000 })
      const pending = { ...wanted, state: "pending" as const, leaseUntil: 120_000, secret: "other" }
      const { resource, subscription } = yield* at(1_000)(subscribe(wanted))
      const early = yield* at(4_999)(subscribe(pending))
      assert.deepStrictEqual([early.subscription, early.created], [subscription, false])
      assert.strictEqual(early.resource.id, resource.id)
      const store = yield* SubscriptionStore
      assert.isFalse(yield* store.removePending(subscription.id))
      yield* at(5_000)(subscribe(pending))
      const late = Option.getOrThrow(yield* store.load(subscription.id))
      assert.deepStrictEqual([late.state, late.secret], ["pending", "other"])
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

const leases = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("removes what has ended with its queue, and nothing else", () =>
    Effect.gen(function*() {
      const long = wantedBy(0, { face: "hub", leaseUntil: 4_000_000_000_000, endpoint: "https://long.example/" })
      const { resource, subscription: kept } = yield* subscribe(long)
      const { subscription: ended } = yield* subscribe({ ...long, endpoint: "https://e.example/", leaseUntil: 5_000 })
      const wholeFeed = { contentType: "text/xml", body: Uint8Array.of(60) }
      yield* at(4_999)(record({ ...found(resource, [entry("a")]), wholeFeed }))
      const store = yield* SubscriptionStore
      const removed = (now: number) =>
        Effect.map(
          at(now)(store.removeExpired(1_000)),
          (all) => all.filter(({ resourceId }) => resourceId === resource.id)
        )
      assert.deepStrictEqual(yield* removed(4_999), [])
      assert.deepStrictEqual(yield* removed(5_000), [{
        id: ended.id,
        accountId: 0,
        resourceId: resource.id,
        topic: ended.topic,
        endpoint: "https://e.example/",
        partition: 7
      }])
      assert.deepStrictEqual(yield* removed(5_000), [])
      assert.deepStrictEqual(yield* store.load(ended.id), Option.none())
      assert.deepStrictEqual(yield* store.load(kept.id), Option.some(kept))
      const backlog = (id: number) => Outbox.use((outbox) => outbox.backlog(id, 5))
      assert.deepStrictEqual(
        [(yield* backlog(ended.id)).deliveries.length, (yield* backlog(kept.id)).deliveries.length],
        [0, 1]
      )
      const many = yield* Effect.forEach(
        [1, 2, 3],
        (i) => subscribe({ ...long, endpoint: `https://${i}.example/`, leaseUntil: 1 })
      )
      assert.strictEqual((yield* at(0)(store.removeExpired(1_000))).length, 0)
      assert.strictEqual((yield* at(1)(store.removeExpired(2))).length, 2)
      assert.deepStrictEqual((yield* at(1)(store.removeExpired(2))).map(({ id }) => id), [many[2]?.subscription.id])
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
      assert.deepStrictEqual(yield* store.findByTopic(one.id, wanted.topic.canonical), [
        { ...first.subscription, state: "paused" },
        second.subscription
      ])
      assert.deepStrictEqual(yield* store.findByTopic(one.id, "https://nobody.example/"), [])
      assert.deepStrictEqual(yield* store.findByTopic(one.id, "https://nobody.example/\u0000"), [])
    }))

  it.effect("deletes a pending one, and none that was made active meanwhile", () =>
    Effect.gen(function*() {
      const wanted = wantedBy((yield* newAccount).id)
      const store = yield* SubscriptionStore
      const { id } = (yield* subscribe({ ...wanted, state: "pending" })).subscription
      yield* subscribe({ ...wanted, state: "active" })
      assert.isFalse(yield* store.removePending(id))
      assert.isTrue(Option.isSome(yield* store.load(id)))
      const other = { ...wanted, endpoint: "https://a.example/", state: "pending" as const }
      const pending = (yield* subscribe(other)).subscription.id
      assert.isTrue(yield* store.removePending(pending))
      assert.isFalse(yield* store.removePending(pending))
      assert.deepStrictEqual(yield* store.load(pending), Option.none())
    }))

  it.effect("finds the one of an account, face, topic and endpoint", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = wantedBy(account.id)
      const find = (one: typeof wanted) => SubscriptionStore.use((store) => store.find(one))
      assert.deepStrictEqual(yield* find(wanted), Option.none())
      const { subscription } = yield* subscribe(wanted)
      assert.deepStrictEqual(yield* find({ ...wanted, secret: "other", state: "pending" }), Option.some(subscription))
      const others = [
        { ...wanted, face: "hub" as const },
        { ...wanted, accountId: 0 },
        { ...wanted, endpoint: `${wanted.endpoint}/` },
        { ...wanted, topic: wantedBy(account.id).topic }
      ]
      assert.deepStrictEqual(yield* Effect.forEach(others, find), others.map(() => Option.none()))
    }))

  it.effect("counts what stands at a site, whatever its hosts, up to a limit", () =>
    Effect.gen(function*() {
      const host = `${unique("hooks")}.example`
      const make = (change: Partial<NewSubscription>) => subscribe(wantedBy(0, { face: "hub", host, ...change }))
      yield* Effect.forEach([{}, {}, { leaseUntil: 5_000 }, { state: "pending" as const }], make)
      yield* Effect.forEach([`a.${host}`, `a.b.${host}.`, `not${host}`], (other) => make({ host: other }))
      yield* make({ accountId: (yield* newAccount).id })
      const count = (now: number, limit: number) =>
        at(now)(SubscriptionStore.use((store) => store.countOnSite(host, limit)))
      assert.deepStrictEqual([yield* count(4_999, 10), yield* count(5_000, 10), yield* count(4_999, 2)], [5, 4, 2])
      yield* make({ host: "192.0.2.77" })
      assert.strictEqual(yield* SubscriptionStore.use((store) => store.countOnSite("192.0.2.77", 10)), 1)
    }))

  it.effect("counts the subscriptions of an account in every state, up to a limit", () =>
    Effect.gen(function*() {
      const { id } = yield* newAccount
      const count = (limit: number) => SubscriptionStore.use((store) => store.countOfAccount(id, limit))
      assert.strictEqual(yield* count(10), 0)
      yield* Effect.forEach(["active", "pending", "paused"] as const, (state) => subscribe(wantedBy(id, { state })))
      yield* newSubscription()
      assert.deepStrictEqual([yield* count(10), yield* count(2)], [3, 2])
    }))

  it.effect("keeps the maximum of an account for requests and imports at the same moment", () =>
    Effect.gen(function*() {
      const { id } = yield* newAccount
      const make = () => wantedBy(id, { maxOfAccount: 5 })
      const first = make()
      yield* subscribe(first)
      const attempts = [
        ...Array.from({ length: 6 }, () => Effect.as(subscribe(make()), 1)),
        ...Array.from(
          { length: 3 },
          () => Effect.as(SubscriptionStore.use((store) => store.subscribeAll([make(), make()])), 2)
        )
      ]
      const results = yield* Effect.forEach(attempts, (attempt) => Effect.result(attempt), { concurrency: "unbounded" })
      const made = results.reduce((sum, result) => sum + Result.getOrElse(result, () => 0), 0)
      const count = SubscriptionStore.use((store) => store.countOfAccount(id, 100))
      assert.deepStrictEqual([made, yield* count], [4, 5])
      for (const result of results) {
        if (Result.isSuccess(result)) continue
        assert.strictEqual(result.failure.reason._tag, "TooMany")
        assert.match(result.failure.message, /^Your account can have at most 5 subscriptions\. /)
      }
      assert.isFalse((yield* subscribe({ ...first, format: "json" })).created)
      const again = yield* SubscriptionStore.use((store) => store.subscribeAll([first]))
      assert.deepStrictEqual(again.map(({ created }) => created), [false])
      const refused = make()
      yield* Effect.flip(subscribe(refused))
      assert.isTrue((yield* subscribe({ ...refused, maxOfAccount: 6 })).created)
    }))

  it.effect("counts live subscriptions of the hub face whose callbacks agreed in a network, and a later agreement moves them", () =>
    Effect.gen(function*() {
      const network = `${unique("network")}/24`
      const make = (change: Partial<NewSubscription>) => subscribe(wantedBy(0, { face: "hub", network, ...change }))
      const count = (of: string, now: number, limit: number) =>
        at(now)(SubscriptionStore.use((store) => store.countInNetwork(of, limit)))
      const moved = wantedBy(0, { face: "hub", network })
      assert.strictEqual((yield* subscribe(moved)).subscription.network, network)
      yield* Effect.forEach([{}, { leaseUntil: 5_000 }, { state: "pending" as const }, { network: "other/24" }], make)
      const counts = [
        yield* count(network, 4_999, 10),
        yield* count(network, 5_000, 10),
        yield* count(network, 4_999, 2)
      ]
      assert.deepStrictEqual(counts, [3, 2, 2])
      yield* subscribe({ ...moved, network: `${network} moved` })
      assert.deepStrictEqual([yield* count(network, 5_000, 10), yield* count(`${network} moved`, 5_000, 10)], [1, 1])
    }))

  it.effect("stores the network of a later agreement, and changes nothing else", () =>
    Effect.gen(function*() {
      const { subscription } = yield* subscribe(wantedBy(0, { face: "hub", network: "before/24", secret: "s" }))
      const store = yield* SubscriptionStore
      yield* store.saveNetwork(subscription.id, "after/24")
      assert.deepStrictEqual(yield* store.load(subscription.id), Option.some({ ...subscription, network: "after/24" }))
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
        const { items, total } = yield* store.list({ accountId: account.id, page, byPage, counted: true })
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
      const shown = { subscription, resource: resourceProfileOf(state) }
      const query = { accountId: account.id, page: 1, byPage: 20 }
      assert.deepStrictEqual(yield* store.list(query), { items: [shown], total: undefined })
      const counted = {
        items: [{ ...shown, deliveries: { waiting: 2, dropped: 1 }, nextTryAt: deliveries[1]?.dueAt ?? 0 }],
        total: 1
      }
      assert.deepStrictEqual(yield* store.list({ ...query, counted: true }), counted)
      const search = { ...matchAll, feedUrl: resource.url }
      assert.deepStrictEqual(yield* store.list({ ...query, search }), { items: [shown], total: undefined })
      assert.deepStrictEqual(yield* store.list({ ...query, search, counted: true }), counted)
    }))

  it.effect("gives accounts at the same time their own pages, those behind a hundred subscriptions too", () =>
    Effect.gen(function*() {
      const store = yield* SubscriptionStore
      const [one, other] = [yield* newAccount, yield* newAccount]
      const made = yield* store.subscribeAll(Array.from({ length: 103 }, () => wantedBy(one.id)))
      const { subscription } = yield* subscribe(wantedBy(other.id))
      const topics = made.map((item) => item.subscription.topic)
      const listed = (accountId: number, page: number, byPage: number) =>
        Effect.map(
          store.listBriefly({ accountId, page, byPage }),
          (items) => items.map((item) => item.subscription.topic)
        )
      const pages = yield* Effect.all([
        listed(one.id, 1, 3),
        listed(other.id, 1, 3),
        listed(one.id, 2, 3),
        listed(one.id, 20, 5),
        listed(one.id, 21, 5),
        listed(one.id, 1, 3),
        listed(other.id, 2, 3)
      ], { concurrency: "unbounded" })
      assert.deepStrictEqual(pages, [
        topics.slice(0, 3),
        [subscription.topic],
        topics.slice(3, 6),
        topics.slice(95, 100),
        topics.slice(100),
        topics.slice(0, 3),
        []
      ])
    }))

  it.effect("lists a few fields of each subscription, on any page and for a search", () =>
    Effect.gen(function*() {
      const store = yield* SubscriptionStore
      const account = yield* newAccount
      const headers = [["x-own", "1"]] as const
      const wanted = [
        wantedBy(account.id, { secret: "sesame", headers, format: "json", feedsOnly: true, state: "paused" }),
        wantedBy(account.id, { format: "atom", endpoint: "https://callback.example/other" }),
        wantedBy(account.id, { face: "hub", secret: "of the hub" })
      ]
      const made = yield* Effect.forEach(wanted, subscribe)
      const header = { title: { value: "Feed", type: "text" }, id: "urn:feed" }
      yield* record(found({ ...(made[1]?.resource ?? assert.fail()), kind: "feed", header }, [entry("a")]))
      const [first, second, third] = wanted.map(({ topic }) => topic.given)
      const endpoint = "https://callback.example/hook"
      const unread = { kind: "unknown" as const }
      const items = [
        {
          subscription: { topic: first, endpoint, format: "json", feedsOnly: true, secret: "sesame" },
          resource: unread
        },
        {
          subscription: { topic: second, endpoint: "https://callback.example/other", format: "atom" },
          resource: { kind: "feed", header }
        },
        { subscription: { topic: third, endpoint, secret: "of the hub" }, resource: unread }
      ] as const
      const list = (page: number, byPage: number, search?: Search) =>
        store.listBriefly({ accountId: account.id, page, byPage, ...(search !== undefined && { search }) })
      assert.deepStrictEqual(yield* list(1, 20), items as unknown)
      assert.deepStrictEqual(yield* list(1, 500), items as unknown)
      assert.deepStrictEqual(yield* list(2, 2), items.slice(2) as unknown)
      assert.deepStrictEqual(yield* list(4, 1), [])
      assert.deepStrictEqual(yield* list(1_000_000, 500), [])
      const ofHook = { ...matchAll, endpointUrl: endpoint }
      assert.deepStrictEqual(yield* list(1, 20, ofHook), [items[0], items[2]] as unknown)
      assert.deepStrictEqual(yield* list(2, 1, ofHook), [items[2]] as unknown)
      assert.deepStrictEqual(yield* list(1, 20, { ...matchAll, endpointUrl: "https://none.example/" }), [])
    }))

  it.effect("sees every earlier write in a brief list", () =>
    Effect.gen(function*() {
      const store = yield* SubscriptionStore
      const account = yield* newAccount
      const { subscription } = yield* subscribe(wantedBy(account.id, { secret: "one" }))
      const list = Effect.map(store.listBriefly({ accountId: account.id, page: 1, byPage: 20 }), (items) =>
        items.map((item) => item.subscription.secret))
      assert.deepStrictEqual(yield* list, ["one"])
      yield* store.rotateSecret(subscription, "two", 0)
      assert.deepStrictEqual(yield* list, ["two"])
      yield* store.remove(subscription.id)
      assert.deepStrictEqual(yield* list, [])
    }))

  it.effect("has nothing for an account without subscriptions", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      assert.deepStrictEqual(yield* store.list({ accountId: account.id, page: 1, byPage: 20, counted: true }), {
        items: [],
        total: 0
      })
    }))
}

/** A library of an account: what it is searched for, and the names of those that fit. */
const library = Effect.gen(function*() {
  const [account, other] = [yield* newAccount, yield* newAccount]
  const site = unique("site")
  const add = Effect.fnUntraced(function*(
    name: string,
    url: string,
    change: Partial<NewSubscription>,
    state: Partial<ResourceState> = {}
  ) {
    const topic = { given: url, canonical: url, host: new URL(url).hostname }
    const made = yield* subscribe(wantedBy(account.id, { topic, ...change }))
    yield* subscribe(wantedBy(other.id, { topic, ...change }))
    if (Object.keys(state).length > 0) yield* record(unchanged({ ...made.resource, ...state }))
    return [made.subscription.id, name] as const
  })
  const hooks = { endpoint: `https://hooks.example/${site}/Push?50%_x`, host: "hooks.example" }
  const names = new Map([
    yield* add("news", `https://${site}.example/news.xml`, { ...hooks, format: "json" }, { velocity: 2, kind: "feed" }),
    yield* add("blog", `https://${site}.example/blog/feed`, {}, { velocity: 40, bozoRank: 0.25, kind: "feed" }),
    yield* add("page", `http://other${site}.example/page`, {}, { kind: "other", popularity: 3.5, pornRank: 1 }),
    yield* add("ann", `https://${site}.example/news.xml`, {
      channel: "xmpp",
      endpoint: `ann@${site}.jabber.example`,
      host: `${site}.jabber.example`,
      format: "atom"
    }),
    yield* add("null", `https://third${site}.example/`, { channel: "null", ...hooks })
  ])
  const store = yield* SubscriptionStore
  const find = Effect.fnUntraced(function*(search: Record<string, string>, page = 1, byPage = 20) {
    const { items, total } = yield* store.list({
      accountId: account.id,
      page,
      byPage,
      search: yield* Effect.fromResult(parse(Object.entries(search), "search")),
      counted: true
    })
    return { total, found: items.map(({ subscription }) => names.get(subscription.id)) }
  })
  return { account, names, site, hooks, find }
})

const searching = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("finds by the health of feeds and callbacks, and by dropped notifications", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const add = Effect.fnUntraced(function*(name: string, state: Partial<ResourceState>) {
        const { resource, subscription } = yield* subscribe(
          wantedBy(account.id, { endpoint: `https://${name}.example/` })
        )
        yield* record(unchanged({ ...resource, ...state }))
        return { subscription, resource: { ...resource, ...state } }
      })
      const good = yield* add("good", { code: 200, lastFetch: 1_000 })
      yield* add("gone", { code: 410, lastFetch: 1_000, inError: true, failures: 2 })
      yield* add("unread", { code: 200, lastFetch: 1_000, inError: true, failures: 3 })
      const late = yield* add("late", { code: 304, lastFetch: 1_000 })
      yield* SubscriptionHealth.use((health) =>
        health.saveFailing(late.subscription.id, { since: 5_000, announced: 0 })
      )
      for (const [item, count] of [[late, 3], [good, 1]] as const) {
        for (let i = 0; i < count; i++) {
          const [delivery] = yield* record(found(item.resource, [entry(`${count} ${i}`)]))
          yield* Outbox.use((outbox) => outbox.drop(delivery ?? assert.fail(), { code: 500, message: "It failed." }))
        }
      }
      const store = yield* SubscriptionStore
      const find = Effect.fnUntraced(function*(search: Record<string, string>) {
        const parsed = yield* Effect.fromResult(parse(Object.entries(search), "search"))
        const { items } = yield* store.list({ accountId: account.id, page: 1, byPage: 20, search: parsed })
        return items.map(({ subscription }) => new URL(subscription.endpoint).hostname.split(".")[0])
      })
      assert.deepStrictEqual(yield* find({ "feed.failing": "true" }), ["gone", "unread"])
      assert.deepStrictEqual(yield* find({ "feed.failing": "false" }), ["good", "late"])
      assert.deepStrictEqual(yield* find({ "feed.code": "410" }), ["gone"])
      assert.deepStrictEqual(yield* find({ "feed.code": ">=400" }), ["gone"])
      assert.deepStrictEqual(yield* find({ "feed.code": "200" }), ["good", "unread"])
      assert.deepStrictEqual(yield* find({ "feed.code": "<400", "feed.failing": "true" }), ["unread"])
      assert.deepStrictEqual(yield* find({ "endpoint.failing": "true" }), ["late"])
      assert.deepStrictEqual(yield* find({ "endpoint.failing": "false" }), ["good", "gone", "unread"])
      assert.deepStrictEqual(yield* find({ "deliveries.dropped": ">0" }), ["good", "late"])
      assert.deepStrictEqual(yield* find({ "deliveries.dropped": ">=2", "endpoint.failing": "true" }), ["late"])
      assert.deepStrictEqual(yield* find({ "deliveries.dropped": "0" }), ["gone", "unread"])
      assert.deepStrictEqual(yield* find({ "deliveries.dropped": "<3" }), ["good", "gone", "unread"])
    }))

  it.effect("finds by each key, whole", () =>
    Effect.gen(function*() {
      const { find, hooks, site } = yield* library
      const found = Effect.fnUntraced(function*(search: Record<string, string>) {
        const answer = yield* find(search)
        assert.strictEqual(answer.total, answer.found.length)
        return answer.found
      })
      assert.deepStrictEqual(yield* found({}), ["news", "blog", "page", "ann", "null"])
      assert.deepStrictEqual(yield* found({ format: "json" }), ["news"])
      assert.deepStrictEqual(yield* found({ format: "atom" }), ["blog", "ann", "null"])
      assert.deepStrictEqual(yield* found({ "feed.url": `https://${site}.example/news.xml` }), ["news", "ann"])
      assert.deepStrictEqual(yield* found({ "feed.url": `https://${site}.example/news.xm` }), [])
      assert.deepStrictEqual(yield* found({ "feed.hostname": `${site}.example` }), ["news", "blog", "ann"])
      assert.deepStrictEqual(yield* found({ "feed.hostname": site }), [])
      assert.deepStrictEqual(yield* found({ "endpoint.url": hooks.endpoint }), ["news", "null"])
      assert.deepStrictEqual(yield* found({ "endpoint.url": hooks.endpoint.toLowerCase() }), [])
      assert.deepStrictEqual(yield* found({ "endpoint.hostname": "hooks.example" }), ["news", "null"])
      assert.deepStrictEqual(yield* found({ "endpoint.jid": `ann@${site}.jabber.example/desk` }), ["ann"])
      assert.deepStrictEqual(yield* found({ "endpoint.domain": `${site}.jabber.example` }), ["ann"])
      assert.deepStrictEqual(yield* found({ "endpoint.hostname": `${site}.jabber.example` }), [])
      assert.deepStrictEqual(yield* found({ "endpoint.domain": "hooks.example" }), [])
    }))

  it.effect("finds by ranks and their ranges; what is not known counts as 0", () =>
    Effect.gen(function*() {
      const { find } = yield* library
      const found = (search: Record<string, string>) => Effect.map(find(search), (answer) => answer.found)
      assert.deepStrictEqual(yield* found({ "feed.velocity": "2" }), ["news", "ann"])
      assert.deepStrictEqual(yield* found({ "feed.velocity": ">2" }), ["blog"])
      assert.deepStrictEqual(yield* found({ "feed.velocity": ">=2" }), ["news", "blog", "ann"])
      assert.deepStrictEqual(yield* found({ "feed.velocity": "<2" }), ["page", "null"])
      assert.deepStrictEqual(yield* found({ "feed.velocity": "<=2" }), ["news", "page", "ann", "null"])
      assert.deepStrictEqual(yield* found({ "feed.bozo": ">0.2" }), ["blog"])
      assert.deepStrictEqual(yield* found({ "feed.porn": "1" }), ["page"])
      assert.deepStrictEqual(yield* found({ "feed.popularity": ">=3.5" }), ["page"])
    }))

  it.effect("finds by a part of a URL, in any case and without wild cards", () =>
    Effect.gen(function*() {
      const { find, site } = yield* library
      const found = (search: Record<string, string>) => Effect.map(find(search), (answer) => answer.found)
      assert.deepStrictEqual(yield* found({ "feed.inurl": "NEWS.xm" }), ["news", "ann"])
      assert.deepStrictEqual(yield* found({ "feed.inurl": `${site}.example` }), ["news", "blog", "page", "ann", "null"])
      assert.deepStrictEqual(yield* found({ "endpoint.inurl": `${site}/pu` }), ["news", "null"])
      assert.deepStrictEqual(yield* found({ "endpoint.inurl": "?50%_X" }), ["news", "null"])
      assert.deepStrictEqual(yield* found({ "endpoint.inurl": "/pu%50" }), [])
      assert.deepStrictEqual(yield* found({ "feed.inurl": "\\news" }), ["news", "ann"])
    }))

  it.effect("takes what is similar where nothing has the part, but not past the last page", () =>
    Effect.gen(function*() {
      const { find, site } = yield* library
      assert.deepStrictEqual(yield* find({ "feed.inurl": "newz.xml" }), { total: 2, found: ["news", "ann"] })
      assert.deepStrictEqual(yield* find({ "feed.inurl": "newz.xml" }, 2, 1), { total: 2, found: ["ann"] })
      assert.deepStrictEqual(yield* find({ "feed.inurl": "blogs feed" }), { total: 1, found: ["blog"] })
      assert.deepStrictEqual(yield* find({ "feed.inurl": "weather" }), { total: 0, found: [] })
      assert.deepStrictEqual(yield* find({ "feed.inurl": "news" }, 2), { total: 2, found: [] })
      assert.deepStrictEqual(yield* find({ "endpoint.inurl": `${site}/pusch` }), { total: 2, found: ["news", "null"] })
    }))

  it.effect("takes all keys together, page by page", () =>
    Effect.gen(function*() {
      const { find, site } = yield* library
      const both = { "feed.hostname": `${site}.example`, "feed.velocity": ">1", "endpoint.inurl": "example" }
      assert.deepStrictEqual(yield* find(both), { total: 2, found: ["news", "blog"] })
      assert.deepStrictEqual(yield* find(both, 2, 1), { total: 2, found: ["blog"] })
      assert.deepStrictEqual(yield* find({ ...both, format: "json" }), { total: 1, found: ["news"] })
      assert.deepStrictEqual(yield* find({ ...both, "endpoint.jid": "ann@jabber.example" }), { total: 0, found: [] })
    }))

  it.effect("finds the oldest subscription of each feed, as many as are asked for", () =>
    Effect.gen(function*() {
      const { account, hooks, names, site } = yield* library
      const store = yield* SubscriptionStore
      const feeds = Effect.fnUntraced(function*(search: Record<string, string>, limit: number) {
        const found = yield* store.feeds(
          account.id,
          yield* Effect.fromResult(parse(Object.entries(search), "hub.callback")),
          limit
        )
        return found.map(({ id }) => names.get(id))
      })
      assert.deepStrictEqual(yield* feeds({}, 200), ["news", "blog", "page", "null"])
      assert.deepStrictEqual(yield* feeds({}, 2), ["news", "blog"])
      assert.deepStrictEqual(yield* feeds({ "endpoint.url": hooks.endpoint }, 200), ["news", "null"])
      assert.deepStrictEqual(yield* feeds({ "feed.inurl": "newz.xml" }, 200), ["news"])
      assert.deepStrictEqual(yield* feeds({ "endpoint.domain": `${site}.jabber.example` }, 200), ["ann"])
      assert.deepStrictEqual(yield* feeds({ format: "json", "feed.velocity": ">9" }, 200), [])
    }))
}
