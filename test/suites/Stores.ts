import { assert, describe, layer } from "@effect/vitest"
import { Effect, type Layer, Option, Redacted } from "effect"
import type { Entry } from "#domain/Entry.ts"
import type { Delivery } from "#domain/Notification.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { type Change, maxStoredLength, ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { initialPeriod, type ResourceState } from "#domain/Resource.ts"
import * as Topic from "#domain/Topic.ts"

type Stores = AccountStore | EntryStore | Outbox | ResourceStore | SubscriptionStore

let serial = 0
const unique = (what: string) => `${what}${++serial}`

const account = Effect.gen(function*() {
  const accounts = yield* AccountStore
  return yield* accounts.create(unique("ann"), Redacted.make("a password"))
})

const freshUrl = () => `http://${unique("host")}.example/feed`

const subscribe = Effect.fnUntraced(
  function*(accountId: number, url: string, endpoint = `http://hooks.example/${unique("cb")}`) {
    const subscriptions = yield* SubscriptionStore
    const topic = yield* Effect.fromResult(Topic.parse(url))
    return yield* subscriptions.subscribe({
      accountId,
      topic,
      partition: Topic.partitionOf(topic.host),
      channel: "webhook",
      endpoint,
      host: "hooks.example",
      face: "api",
      state: "active"
    })
  }
)

const entry = (id: string, more: Partial<Entry> = {}): Entry => ({ id, title: { value: id, type: "text" }, ...more })

const change = (state: ResourceState, ids: ReadonlyArray<string>, more: Partial<Change> = {}): Change => ({
  state: { ...state, kind: "feed", lastFetch: 1000, lastParse: 1000, code: 200, header: { id: "urn:feed" } },
  entries: ids.map((id) => entry(id)),
  updated: [],
  announce: { _tag: "Entries", ids: ids.toReversed() },
  ...more
})

const idsOf = ({ notification: { news } }: Delivery) => news._tag === "Entries" ? news.entries.map(({ id }) => id) : []

/** What every set of stores keeps: in memory, embedded and on a server. */
export const suite = (name: string, stores: Layer.Layer<Stores>) =>
  layer(stores, { timeout: "60 seconds", excludeTestServices: true })(name, (it) => {
    describe("ResourceStore", () => {
      it.effect("makes a resource with its first subscription, due at once", () =>
        Effect.gen(function*() {
          const url = freshUrl()
          const { created, resource, subscription } = yield* subscribe((yield* account).id, url)
          assert.strictEqual(created, true)
          assert.strictEqual(subscription.topic, url)
          assert.deepStrictEqual(
            [resource.url, resource.kind, resource.period, resource.subscribers, resource.lastFetch, resource.failures],
            [url, "unknown", initialPeriod, 1, undefined, 0]
          )
          const found = Option.getOrThrow(yield* (yield* ResourceStore).find(url))
          assert.deepStrictEqual(found, resource)
        }))

      it.effect("gives back every field of a state", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          const state: ResourceState = {
            ...resource,
            nextFetch: 1_700_000_000_123,
            lastFetch: 1_700_000_000_001,
            period: 61,
            code: 200,
            failures: 2,
            kind: "feed",
            http: "Fetched (ring) 200 61 and parsed 1/2 entries",
            lastParse: 1_700_000_000_002,
            lastFull: 1_700_000_000_003,
            etag: "W/\"é\"",
            lastModified: "yesterday",
            signature: 2n ** 64n - 1n,
            inError: true,
            header: { title: { value: "A \u0000 title", type: "text" } },
            seen: new Uint8Array([1, 2, 255]),
            slices: new Uint8Array([9]),
            idPolicy: { version: 1, rule: "link", reason: "none" },
            generatedIds: true,
            entriesSinceMaintenance: 7,
            bozoRank: 0.25
          }
          yield* store.record({ state, entries: [], updated: [], announce: undefined })
          const loaded = Option.getOrThrow(yield* store.load(resource.id))
          assert.deepStrictEqual(
            { ...loaded, seen: [...loaded.seen], slices: [...loaded.slices] },
            { ...state, seen: [1, 2, 255], slices: [9] } as unknown as typeof loaded & {
              seen: Array<number>
              slices: Array<number>
            }
          )
        }))

      it.effect("shows an unchanged poll at once, and still after it is written; an older one changes nothing", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          const polled = { id: resource.id, nextFetch: 90_000, lastFetch: 30_000, period: 60, code: 304, failures: 0 }
          yield* store.touch(polled)
          const nextFetch = Effect.map(store.load(resource.id), (loaded) => Option.getOrThrow(loaded).nextFetch)
          assert.strictEqual(yield* nextFetch, 90_000)
          yield* store.flush
          assert.strictEqual(yield* nextFetch, 90_000)
          yield* store.touch({ ...polled, nextFetch: 1, lastFetch: 29_000 })
          yield* store.flush
          assert.strictEqual(yield* nextFetch, 90_000)
        }))

      it.effect("gives the alarms of resources with an active subscription", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const subscriptions = yield* SubscriptionStore
          const { resource, subscription } = yield* subscribe((yield* account).id, freshUrl())
          const mine = Effect.map(store.alarms(resource.partition), ({ dueAt, ids }) => {
            const at = ids.indexOf(resource.id)
            return at < 0 ? undefined : dueAt[at]
          })
          assert.strictEqual(yield* mine, resource.nextFetch)
          yield* subscriptions.remove(subscription.id)
          assert.strictEqual(yield* mine, undefined)
        }))

      it.effect("records once what is recorded twice", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          const first = yield* store.record(change(resource, ["a", "b"]))
          assert.deepStrictEqual(first.map(idsOf), [["b", "a"]])
          assert.deepStrictEqual(yield* store.record(change(resource, ["a", "b"])), [])
          const third = yield* store.record(change(resource, ["b", "c"]))
          assert.deepStrictEqual(third.map(idsOf), [["c"]])
          assert.deepStrictEqual(third.map(({ sequence }) => sequence), [2])
        }))

      it.effect("records two owners of the same entries once", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          const both = yield* Effect.forEach([1, 2, 3], () => store.record(change(resource, ["a"])), {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(both.flat().map(idsOf), [["a"]])
        }))

      it.effect("stores silently what is not announced", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          assert.deepStrictEqual(yield* store.record(change(resource, ["a"], { announce: undefined })), [])
          const page = yield* (yield* EntryStore).page({ resourceIds: [resource.id], count: 10 })
          assert.deepStrictEqual(page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : page, ["a"])
        }))

      it.effect("announces an updated entry whose content differs, once", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          yield* store.record(change(resource, ["a"]))
          const updated = change(resource, [], {
            updated: [entry("a", { title: { value: "new", type: "text" } })],
            announce: { _tag: "Entries", ids: ["a"] }
          })
          assert.deepStrictEqual((yield* store.record(updated)).map(idsOf), [["a"]])
          assert.deepStrictEqual(yield* store.record(updated), [])
        }))

      it.effect("announces a failure and a document at their transition only", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          const failing = change({ ...resource, inError: true }, [], { announce: { _tag: "Failure" } })
          assert.strictEqual((yield* store.record(failing)).length, 1)
          assert.strictEqual((yield* store.record(failing)).length, 0)
          const document = { contentType: "text/plain", body: new Uint8Array([104, 105]) }
          const other = change({ ...resource, signature: 5n }, [], { announce: { _tag: "Document", document } })
          assert.deepStrictEqual(
            (yield* store.record(other)).map(({ notification }) => notification.news),
            [{ _tag: "Document", document }]
          )
          assert.strictEqual((yield* store.record(other)).length, 0)
          const stored = Option.getOrThrow(yield* (yield* EntryStore).document(resource.id))
          assert.deepStrictEqual([stored.contentType, ...stored.body], ["text/plain", 104, 105])
        }))

      it.effect("refuses a document that is too large, and writes nothing of it", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { resource } = yield* subscribe((yield* account).id, freshUrl())
          const document = { contentType: "text/plain", body: new Uint8Array(maxStoredLength + 1) }
          const error = yield* Effect.flip(store.record(change(resource, ["a"], { document })))
          assert.strictEqual(error.reason, "defect")
          assert.strictEqual(Option.isNone(yield* (yield* EntryStore).document(resource.id)), true)
        }))

      it.effect("takes one credit a notification, each delivery with its own balance", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { id, login } = yield* account
          const url = freshUrl()
          yield* subscribe(id, url)
          const { resource } = yield* subscribe(id, url)
          const deliveries = yield* store.record(change(resource, ["a"]))
          assert.deepStrictEqual(deliveries.map(({ credits }) => credits), [-1, -2])
          const after = Option.getOrThrow(yield* (yield* AccountStore).find(login))
          assert.strictEqual(after.credits, -2)
        }))

      it.effect("does not deadlock where accounts cross", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const accounts = [yield* account, yield* account]
          const resources = yield* Effect.forEach(Array.from({ length: 8 }), (_, i) =>
            Effect.gen(function*() {
              const url = freshUrl()
              for (const { id } of i % 2 === 0 ? accounts : accounts.toReversed()) yield* subscribe(id, url)
              return Option.getOrThrow(yield* store.find(url))
            }))
          for (const round of ["a", "b", "c"]) {
            const recorded = yield* Effect.forEach(
              resources,
              (resource, i) => Effect.delay(store.record(change(resource, [round])), i % 2 === 0 ? 0 : 8),
              { concurrency: "unbounded" }
            )
            assert.deepStrictEqual(recorded.map((deliveries) => deliveries.length), resources.map(() => 2))
          }
        }).pipe(Effect.timeout("20 seconds")), 30_000)
    })

    describe("Outbox", () => {
      const recorded = Effect.fnUntraced(function*(rounds: number) {
        const store = yield* ResourceStore
        const { resource, subscription } = yield* subscribe((yield* account).id, freshUrl())
        for (let round = 1; round <= rounds; round++) yield* store.record(change(resource, [`e${round}`]))
        return { id: subscription.id, partition: resource.partition }
      })
      const sequences = ({ deliveries }: { readonly deliveries: ReadonlyArray<Delivery> }) =>
        deliveries.map(({ sequence }) => sequence)

      it.effect("gives what waits in order, and says what comes next", () =>
        Effect.gen(function*() {
          const outbox = yield* Outbox
          const { id } = yield* recorded(3)
          const two = yield* outbox.backlog(id, 2)
          assert.deepStrictEqual([sequences(two), two.more, two.nextSequence], [[1, 2], true, 4])
          assert.deepStrictEqual(two.deliveries.map(idsOf), [["e1"], ["e2"]])
          const all = yield* outbox.backlog(id, 10)
          assert.deepStrictEqual([sequences(all), all.more], [[1, 2, 3], false])
        }))

      it.effect("forgets what is confirmed, at once and after it is written", () =>
        Effect.gen(function*() {
          const outbox = yield* Outbox
          const { id } = yield* recorded(3)
          const [first] = (yield* outbox.backlog(id, 1)).deliveries
          yield* outbox.confirm(first?.id ?? 0)
          assert.deepStrictEqual(sequences(yield* outbox.backlog(id, 10)), [2, 3])
          yield* outbox.flush
          assert.deepStrictEqual(sequences(yield* outbox.backlog(id, 10)), [2, 3])
        }))

      it.effect("postpones and drops, and finds what is stalled", () =>
        Effect.gen(function*() {
          const outbox = yield* Outbox
          const { id, partition } = yield* recorded(2)
          const [first, second] = (yield* outbox.backlog(id, 2)).deliveries
          assert.isDefined(first)
          assert.isDefined(second)
          yield* outbox.postpone(first, 7_000_000_000_000, { code: 500, message: "The callback answered 500." })
          yield* outbox.drop(second, { code: 0, message: "No answer." })
          const left = yield* outbox.backlog(id, 10)
          assert.deepStrictEqual(left.deliveries.map(({ attempt, dueAt, sequence }) => [sequence, attempt, dueAt]), [[
            1,
            1,
            7_000_000_000_000
          ]])
          const stalled = (before: number) =>
            Effect.map(outbox.stalled([partition], before), (rows) =>
              rows.some(({ subscriptionId }) => subscriptionId === id))
          assert.strictEqual(yield* stalled(7_000_000_000_000), false)
          assert.strictEqual(yield* stalled(Infinity), true)
        }))

      it.effect("cancels the queue of a subscription that is removed", () =>
        Effect.gen(function*() {
          const outbox = yield* Outbox
          const { id } = yield* recorded(2)
          assert.strictEqual(yield* (yield* SubscriptionStore).remove(id), true)
          assert.deepStrictEqual(sequences(yield* outbox.backlog(id, 10)), [])
          assert.strictEqual(yield* (yield* SubscriptionStore).remove(id), false)
        }))
    })

    describe("SubscriptionStore", () => {
      it.effect("keeps a pair single, and gives it its new format, secret and spelling", () =>
        Effect.gen(function*() {
          const subscriptions = yield* SubscriptionStore
          const { id } = yield* account
          const url = freshUrl()
          const first = yield* subscribe(id, url, "http://hooks.example/one")
          const topic = yield* Effect.fromResult(Topic.parse(url.replace("http:", "HTTP:")))
          const again = yield* subscriptions.subscribe({
            accountId: id,
            topic,
            partition: first.resource.partition,
            channel: "webhook",
            endpoint: "http://hooks.example/one",
            host: "hooks.example",
            format: "json",
            secret: "s3cret",
            face: "api",
            state: "active"
          })
          assert.deepStrictEqual(
            [again.created, again.subscription.id, again.subscription.format, again.subscription.secret],
            [false, first.subscription.id, "json", "s3cret"]
          )
          assert.strictEqual(again.subscription.topic, url.replace("http:", "HTTP:"))
          assert.deepStrictEqual(
            Option.getOrThrow(yield* subscriptions.load(first.subscription.id)),
            again.subscription
          )
          assert.deepStrictEqual(yield* subscriptions.ofTopic(id, url), [again.subscription])
        }))

      it.effect("lists oldest first, in pages, with what waits and what was dropped", () =>
        Effect.gen(function*() {
          const subscriptions = yield* SubscriptionStore
          const { id } = yield* account
          const made: Array<number> = []
          for (let i = 0; i < 5; i++) made.push((yield* subscribe(id, freshUrl())).subscription.id)
          const page = Effect.fnUntraced(function*(page: number) {
            const { items, total } = yield* subscriptions.list({ accountId: id, page, byPage: 2 })
            return [items.map(({ subscription }) => subscription.id), total]
          })
          assert.deepStrictEqual(yield* page(1), [made.slice(0, 2), 5])
          assert.deepStrictEqual(yield* page(3), [made.slice(4), 5])
          assert.deepStrictEqual(yield* page(4), [[], 5])
          assert.deepStrictEqual(yield* subscriptions.ofTopic(id, "http://nowhere.example/"), [])
        }))

      it.effect("finds the subscriptions of an endpoint, as many as asked for", () =>
        Effect.gen(function*() {
          const subscriptions = yield* SubscriptionStore
          const { id } = yield* account
          const endpoint = `http://hooks.example/${unique("shared")}`
          const made: Array<number> = []
          for (let i = 0; i < 3; i++) made.push((yield* subscribe(id, freshUrl(), endpoint)).subscription.id)
          const found = yield* subscriptions.ofEndpoint(id, endpoint, 2)
          assert.deepStrictEqual(found.map(({ id }) => id), made.slice(0, 2))
        }))
    })

    describe("EntryStore", () => {
      const dated = ["2024-01-03", "2024-01-01", undefined, "2024-01-03", "2024-01-02"]

      const stored = Effect.gen(function*() {
        const { resource } = yield* subscribe((yield* account).id, freshUrl())
        const entries = dated.map((date, i) =>
          entry(`e${i}`, date === undefined ? {} : { published: Date.parse(date) })
        )
        yield* (yield* ResourceStore).record({ ...change(resource, []), entries, announce: undefined })
        return resource.id
      })
      const ids = Effect.fnUntraced(function*(id: number, query: { before?: string; after?: string; count?: number }) {
        const page = yield* (yield* EntryStore).page({ resourceIds: [id], count: 50, ...query })
        return page._tag === "Page" ? page.entries.map(({ entry }) => entry.id) : page
      })

      it.effect("orders by date, newest first, latest arrival first among equals", () =>
        Effect.gen(function*() {
          const order = yield* ids(yield* stored, {})
          assert.deepStrictEqual((order as ReadonlyArray<string>).filter((id) => id !== "e2"), ["e3", "e0", "e4", "e1"])
        }))

      it.effect("pages without a gap in both directions", () =>
        Effect.gen(function*() {
          const id = yield* stored
          const whole = (yield* ids(id, {})) as ReadonlyArray<string>
          assert.deepStrictEqual(yield* ids(id, { before: whole[1] ?? "", count: 2 }), whole.slice(2, 4))
          assert.deepStrictEqual(yield* ids(id, { after: whole[4] ?? "", count: 2 }), whole.slice(2, 4))
          assert.deepStrictEqual(yield* ids(id, { before: whole[0] ?? "", after: whole[3] ?? "" }), whole.slice(1, 3))
          assert.deepStrictEqual(yield* ids(id, { before: "nothing" }), {
            _tag: "UnknownEntry",
            parameter: "before",
            id: "nothing"
          })
        }))
    })

    describe("AccountStore", () => {
      it.effect("knows a password, a token with its rights, and nobody else", () =>
        Effect.gen(function*() {
          const accounts = yield* AccountStore
          const { id, login } = yield* account
          const { secret, token } = yield* accounts.createToken({ accountId: id, name: "ci", rights: ["list", "xmpp"] })
          const by = Effect.fnUntraced(function*(login: string, secret: Redacted.Redacted) {
            const caller = yield* accounts.authenticate(login, secret)
            return Option.isSome(caller) ? [...caller.value.rights] : undefined
          })
          assert.deepStrictEqual(yield* by(login, secret), ["list", "xmpp"])
          assert.strictEqual((yield* by(login, Redacted.make("a password")))?.length, 6)
          assert.strictEqual(yield* by(login, Redacted.make("another password")), undefined)
          assert.strictEqual(yield* by((yield* account).login, secret), undefined)
          assert.strictEqual(yield* by("nobody", Redacted.make("a password")), undefined)
          assert.deepStrictEqual(yield* accounts.tokens(id), [token])
          assert.strictEqual(yield* accounts.revokeToken(id, token.id), true)
          assert.strictEqual(yield* accounts.revokeToken(id, token.id), false)
          assert.strictEqual(yield* by(login, secret), undefined)
        }))

      it.effect("keeps a login single, and notices a new password at once", () =>
        Effect.gen(function*() {
          const accounts = yield* AccountStore
          const { login } = yield* account
          const taken = yield* Effect.flip(accounts.create(login, Redacted.make("other")))
          assert.strictEqual(taken._tag, "LoginTaken")
          assert.strictEqual(yield* accounts.setPassword(login, Redacted.make("new password")), true)
          assert.strictEqual(yield* accounts.setPassword("nobody", Redacted.make("new password")), false)
          const old = yield* accounts.authenticate(login, Redacted.make("a password"))
          assert.strictEqual(Option.isNone(old), true)
        }))
    })
  })
