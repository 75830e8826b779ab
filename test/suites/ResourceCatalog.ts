import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import type { Document } from "#domain/delivery/Notification.ts"
import { maxVersionBytes, maxVersions } from "#domain/poll/DocumentVersion.ts"
import { maxFetchRecords } from "#domain/poll/FetchRecord.ts"
import { initialPeriodSeconds, type ResourceState } from "#domain/poll/Resource.ts"
import { type CatalogQuery, ResourceCatalog } from "#domain/ports/ResourceCatalog.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import { matchAll, type Search } from "#domain/Search.ts"
import {
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

/** What every `ResourceCatalog` keeps of its promises. */
export const resourceCatalogSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("ResourceCatalog", () => {
    lists(it)
    histories(it)
    failures(it)
  })
}

const fetched = (resource: ResourceState, at: number, change: Partial<ResourceState> = {}): ResourceState => ({
  ...resource,
  lastFetch: at,
  code: 200,
  http: "Fetched (ping) 200 60 and parsed 1/1 entries",
  signature: BigInt(at),
  ...change
})

const list = (query: CatalogQuery) => ResourceCatalog.use((catalog) => catalog.list(query))

const lists = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("lists each resource of an account once, newest first, page by page", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const wanted = [1, 2, 3].map(() => wantedBy(account.id))
      const resources = yield* Effect.forEach(wanted, (one) => Effect.map(subscribe(one), ({ resource }) => resource))
      yield* subscribe({ ...wanted[1]!, endpoint: "https://second.example/" })
      yield* newSubscription() // of another account
      const ids = resources.map(({ id }) => id).toReversed()
      const first = yield* list({ accountId: account.id, limit: 2 })
      assert.deepStrictEqual([first.items.map(({ resource }) => resource.id), first.next], [ids.slice(0, 2), ids[1]])
      assert.deepStrictEqual(first.items.map(({ subscribers }) => subscribers), [1, 2])
      const second = yield* list({ accountId: account.id, limit: 2, after: first.next! })
      assert.deepStrictEqual([second.items.map(({ resource }) => resource.id), second.next], [[ids[2]], undefined])
      assert.deepStrictEqual(second.items[0]?.resource.period, initialPeriodSeconds)
    }))

  it.effect("goes on behind a resource with many subscriptions of the account", () =>
    Effect.gen(function*() {
      const account = yield* newAccount
      const older = yield* subscribe(wantedBy(account.id))
      const wanted = wantedBy(account.id)
      const many = yield* subscribe(wanted)
      for (let n = 0; n < 5; n++) yield* subscribe({ ...wanted, endpoint: `https://hook${n}.example/` })
      const first = yield* list({ accountId: account.id, limit: 1 })
      assert.deepStrictEqual([first.items.map(({ resource }) => resource.id), first.next], [
        [many.resource.id],
        many.resource.id
      ])
      const second = yield* list({ accountId: account.id, limit: 1, after: many.resource.id })
      assert.deepStrictEqual([second.items.map(({ resource }) => resource.id), second.next], [
        [older.resource.id],
        undefined
      ])
    }))

  it.effect("lists all resources for an operator, with the filters of a search", () =>
    Effect.gen(function*() {
      const name = unique("searched")
      const url = `https://${name}.example/a`
      const topic = { given: url, canonical: url, host: `${name}.example` }
      const { account, resource } = yield* newSubscription({ topic })
      yield* record(unchanged(fetched(resource, 1_000, { inError: true, failures: 3, code: 503 })))
      const find = (search: Partial<Search>, accountId?: number) =>
        Effect.map(
          list({ search: { ...matchAll, ...search }, limit: 5, ...(accountId !== undefined && { accountId }) }),
          ({ items }) => items.map((item) => [item.resource.id, item.failures, item.inError])
        )
      const expected = [[resource.id, 3, true]]
      assert.deepStrictEqual(yield* find({ feedHostname: topic.host }), expected)
      assert.deepStrictEqual(yield* find({ feedInurl: name }), expected)
      assert.deepStrictEqual(yield* find({ feedUrl: url, feedFailing: true }), expected)
      assert.deepStrictEqual(yield* find({ feedUrl: url, feedFailing: false }), [])
      assert.deepStrictEqual(yield* find({ feedInurl: name }, account.id), expected)
      assert.deepStrictEqual(yield* find({ feedInurl: name }, (yield* newAccount).id), [])
    }))

  it.effect("finds a resource of an account, and hides it from other accounts", () =>
    Effect.gen(function*() {
      const catalog = yield* ResourceCatalog
      const { account, resource } = yield* newSubscription()
      const seen = yield* catalog.find({ accountId: account.id, id: resource.id })
      assert.strictEqual(Option.getOrThrow(seen).url, resource.url)
      assert.isTrue(Option.isNone(yield* catalog.find({ accountId: (yield* newAccount).id, id: resource.id })))
      assert.isTrue(Option.isSome(yield* catalog.find({ id: resource.id })))
      assert.isTrue(Option.isNone(yield* catalog.find({ id: 4_000_000_000 })))
    }))
}

const histories = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("keeps the last fetches that changed a resource, newest first, and each of them once", () =>
    Effect.gen(function*() {
      const catalog = yield* ResourceCatalog
      const { resource } = yield* newSubscription()
      assert.deepStrictEqual(yield* catalog.fetches(resource.id), [])
      yield* record(found(fetched(resource, 1_000), [entry("a"), entry("b")]))
      yield* record(found(fetched(resource, 1_000), [entry("a"), entry("b")])) // its answer was lost
      yield* record(unchanged(fetched(resource, 2_000, { failures: 2, code: 0, http: "Fetched (late) 0 60: no" })))
      assert.deepStrictEqual(yield* catalog.fetches(resource.id), [
        { at: 2_000, trigger: "late", code: 0, news: 0, failures: 2 },
        { at: 1_000, trigger: "ping", code: 200, news: 2, failures: 0 }
      ])
      const times = Array.from({ length: maxFetchRecords }, (_, i) => 3_000 + i)
      yield* Effect.forEach(times, (time) => record(unchanged(fetched(resource, time))))
      assert.deepStrictEqual((yield* catalog.fetches(resource.id)).map(({ at }) => at), times.toReversed())
    }))

  it.effect("keeps the last versions of a text, and none of images, large documents and strangers", () =>
    Effect.gen(function*() {
      const catalog = yield* ResourceCatalog
      const { resource } = yield* newSubscription()
      const body = (text: string) => new TextEncoder().encode(text)
      const write = (at: number, document: Document, change: Partial<ResourceState> = {}): PollWrite => ({
        ...unchanged(fetched(resource, at, change)),
        document,
        announce: { _tag: "Document", document }
      })
      const html = (text: string) => ({ contentType: "text/html; charset=utf-8", body: body(text) })
      yield* record(write(1, { contentType: "image/png", body: body("x") }))
      yield* record(write(2, html("x".repeat(maxVersionBytes + 1))))
      yield* record(write(3, html("x"), { strangersOnly: true, hasHubSubscribers: true }))
      assert.deepStrictEqual(yield* catalog.versions(resource.id), [])
      const texts = Array.from({ length: maxVersions + 2 }, (_, i) => `version ${i}`)
      yield* Effect.forEach(texts, (text, i) => record(write(10 + i, html(text))))
      yield* record(write(10 + texts.length - 1, html(texts.at(-1)!))) // the same bytes
      const versions = yield* catalog.versions(resource.id)
      const read = yield* Effect.forEach(versions, ({ id }) => catalog.version(resource.id, id))
      assert.deepStrictEqual(
        read.map((one) => new TextDecoder().decode(Option.getOrThrow(one).body)),
        texts.toReversed().slice(0, maxVersions)
      )
      assert.deepStrictEqual(versions.map(({ bytes, contentType }) => [bytes, contentType])[0], [
        10,
        "text/html; charset=utf-8"
      ])
      const other = yield* newSubscription()
      assert.isTrue(Option.isNone(yield* catalog.version(other.resource.id, versions[0]!.id)))
    }))
}

const failures = (it: Vitest.MethodsNonLive<Stores>) => {
  it.effect("counts the failing resources of an account by host", () =>
    Effect.gen(function*() {
      const catalog = yield* ResourceCatalog
      const account = yield* newAccount
      const host = `${unique("failing")}.example`
      const fail = Effect.fnUntraced(function*(url: string) {
        const topic = { given: url, canonical: url, host: new URL(url).hostname }
        const { resource } = yield* subscribe(wantedBy(account.id, { topic }))
        yield* record(unchanged(fetched(resource, 1_000, { inError: true, failures: 2, code: 0 })))
      })
      yield* Effect.forEach([`https://${host}/1`, `https://${host}/2`, `https://a.${host}/`], fail)
      const hosts = yield* catalog.failingHosts(account.id, 10)
      assert.deepStrictEqual(hosts, { resources: [{ host, count: 2 }, { host: `a.${host}`, count: 1 }], callbacks: [] })
      assert.deepStrictEqual((yield* catalog.failingHosts(account.id, 1)).resources.length, 1)
      assert.deepStrictEqual((yield* catalog.failingHosts((yield* newAccount).id, 10)).resources, [])
    }))
}
