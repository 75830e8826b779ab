import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { type ExportPosition, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { at, newAccount, record, type Stores, subscribe, unchanged, wantedBy } from "#test/support/StoreFixture.ts"

/** Imports and exports of a `SubscriptionStore`. */
export const subscriptionTransferSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("SubscriptionStore, many at once", () => {
    importing(it)
    exporting(it)
  })
}

const load = (id: number) => SubscriptionStore.use((store) => store.load(id)).pipe(Effect.map(Option.getOrThrow))

const importing = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("creates subscriptions with every field, in order, and new resources that are due later", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      const first = wantedBy(account.id, {
        format: "json",
        secret: "s3cret",
        headers: [["X-Tenant", "7"]],
        retry: "days",
        labels: ["b", "a, \"c\""],
        state: "paused",
        firstFetchAt: 9_000,
        periodSeconds: 120
      })
      const second = { ...wantedBy(account.id), topic: first.topic, endpoint: "https://other.example/hook" }
      const third = wantedBy(account.id, { channel: "xmpp", endpoint: "ann@jabber.example", host: "jabber.example" })
      const made = yield* at(1_000)(store.subscribeAll([first, second, third]))
      assert.deepStrictEqual(
        made.map(({ changed, created, createdResource }) => [created, changed, createdResource]),
        [[true, false, true], [true, false, true], [true, false, true]]
      )
      const [a, b, c] = made.map(({ subscription }) => subscription)
      if (a === undefined || b === undefined || c === undefined) throw new Error("A subscription is missing.")
      const { id: _, ...fields } = a
      assert.deepStrictEqual(fields, {
        accountId: account.id,
        resourceId: b.resourceId,
        topic: first.topic.given,
        channel: "webhook",
        endpoint: first.endpoint,
        host: first.host,
        format: "json",
        secret: "s3cret",
        headers: [["X-Tenant", "7"]],
        retry: "days",
        labels: ["b", "a, \"c\""],
        face: "api",
        state: "paused",
        createdAt: 1_000
      })
      assert.deepStrictEqual([b.endpoint, c.channel, c.endpoint], [second.endpoint, "xmpp", "ann@jabber.example"])
      assert.deepStrictEqual([yield* load(a.id), yield* load(c.id)], [a, c])
      const resources = yield* ResourceStore
      const resource = Option.getOrThrow(yield* resources.load(a.resourceId))
      assert.deepStrictEqual([resource.nextFetch, resource.period, resource.partition], [9_000, 120, first.partition])
      assert.strictEqual(Option.getOrThrow(yield* resources.load(c.resourceId)).nextFetch, 1_000)
    }))

  it.effect("leaves existing subscriptions as they are, apart from further labels", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      const wanted = wantedBy(account.id, { secret: "mine", labels: ["b"] })
      const { subscription } = yield* subscribe(wanted)
      const again = yield* store.subscribeAll([{ ...wanted, secret: "theirs", format: "json", labels: ["a", "b"] }])
      assert.deepStrictEqual(again, [{
        subscription: { ...subscription, labels: ["b", "a"] },
        created: false,
        changed: true,
        createdResource: false
      }])
      const once = yield* store.subscribeAll([{ ...wanted, labels: ["a"] }])
      assert.deepStrictEqual(once.map(({ changed, created }) => [created, changed]), [[false, false]])
      const labels = Array.from({ length: 20 }, (_, i) => `l${i}`)
      const [full] = yield* store.subscribeAll([{ ...wanted, labels }])
      assert.deepStrictEqual(full?.subscription.labels, ["b", "a", ...labels.slice(0, 18)])
      assert.deepStrictEqual(yield* store.subscribeAll([]), [])
    }))

  it.effect("makes a pending subscription active, and keeps a paused one paused", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      const pending = wantedBy(account.id, { state: "pending", leaseUntil: 90_000 })
      const paused = wantedBy(account.id, { state: "paused" })
      yield* at(1_000)(subscribe(pending))
      yield* at(1_000)(subscribe(paused))
      const { leaseUntil: _, ...active } = { ...pending, state: "active" as const }
      const made = yield* at(2_000)(store.subscribeAll([active, { ...paused, state: "active" }]))
      assert.deepStrictEqual(
        made.map(({ changed, subscription }) => [subscription.state, subscription.leaseUntil, changed]),
        [["active", undefined, true], ["paused", undefined, false]]
      )
    }))

  it.effect("knows the resources without a subscription now that had a fetch before", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const store = yield* SubscriptionStore
      const [fetched, never, watched] = [wantedBy(account.id), wantedBy(account.id), wantedBy(account.id)]
      for (const wanted of [fetched, watched]) {
        const { resource, subscription } = yield* at(1_000)(subscribe(wanted))
        yield* record(unchanged({ ...resource, lastFetch: 2_000 }))
        if (wanted === fetched) yield* store.remove(subscription.id)
      }
      const urls = [fetched, never, watched].map(({ topic }) => topic.canonical)
      assert.deepStrictEqual([...yield* store.findUnwatched(urls)], [fetched.topic.canonical])
      yield* store.subscribeAll([fetched])
      assert.deepStrictEqual([...yield* store.findUnwatched(urls)], [])
    }))
}

const exporting = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("pages through all active and paused subscriptions, by the first label", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const other = yield* newAccount
      const store = yield* SubscriptionStore
      const labels = [["B"], [], ["a", "B"], ["B", "a"], [], ["Ä"], ["A"]]
      const made = yield* store.subscribeAll(labels.map((own) => wantedBy(account.id, { labels: own })))
      yield* subscribe(wantedBy(account.id, { state: "pending" }))
      yield* subscribe(wantedBy(account.id, { face: "hub" }))
      yield* subscribe(wantedBy(other.id))
      for (const limit of [1, 2, 3, 10]) {
        const seen: Array<number> = []
        let after: ExportPosition | undefined
        while (true) {
          const page = yield* store.exportPage(account.id, after, limit)
          const last = page.at(-1)?.subscription
          if (last === undefined) break
          assert.isAtMost(page.length, limit)
          seen.push(...page.map(({ subscription }) => subscription.id))
          const [folder] = last.labels ?? []
          after = folder === undefined ? { id: last.id } : { id: last.id, folder }
        }
        const ids = made.map(({ subscription }) => subscription.id)
        assert.deepStrictEqual(seen, [1, 4, 6, 0, 3, 2, 5].map((i) => ids[i]))
      }
      const [page] = yield* store.exportPage(account.id, undefined, 1)
      assert.deepStrictEqual(page?.subscription, yield* load(page?.subscription.id ?? 0))
      assert.strictEqual(page?.resource.kind, "unknown")
    }))
}
