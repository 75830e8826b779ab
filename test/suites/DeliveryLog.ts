import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import {
  type DeliveryPage,
  type DeliveryQuery,
  formatLogId,
  type LoggedAttempt,
  type LoggedDenial,
  maxRecordings,
  parseLogId
} from "#domain/delivery/DeliveryLogEntry.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Retention } from "#domain/ports/Retention.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
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
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"

const refused = {
  code: 503,
  message: "The callback answered 503.",
  reason: "server-error",
  answer: "busy",
  latency: 12,
  bytes: 900
} as const
const silent = { code: 0, message: "no answer within 10 s", reason: "timeout" } as const
const delivered = { code: 200, message: "The callback answered 200.", latency: 3, bytes: 77 }

const queued = Effect.gen(function*() {
  const made = yield* newSubscription()
  const [delivery = assert.fail()] = yield* record(found(made.resource, [entry("a")]))
  return { ...made, delivery }
})

/** A page without the ids, which differ between stores. */
const withoutIds = ({ items }: DeliveryPage) => items.map(({ id: _, ...event }): Omit<typeof event, "id"> => event)

/** Those of subscriptions that stand, or stood. */
const tries = (page: DeliveryPage): ReadonlyArray<LoggedAttempt> =>
  page.items.flatMap((one) => one.outcome === "denied" ? [] : [one])

const list = (query: Partial<DeliveryQuery>) => DeliveryLog.use((log) => log.list({ limit: 100, ...query }))

/** What every `DeliveryLog` keeps of its promises. */
export const deliveryLogSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("DeliveryLog", () => {
    attempts(it)
    rings(it)
    filters(it)
    ends(it)
    details(it)
  })
}

const attempts = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.effect("lists the tries that failed, newest first, those of one account or all, and what comes next", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { account, delivery, subscription } = yield* queued
      const other = yield* queued
      yield* at(10_000)(outbox.postpone(delivery, 15_000, refused))
      yield* at(20_000)(outbox.postpone(other.delivery, 25_000, silent))
      yield* at(15_100)(outbox.drop({ ...delivery, attempt: 1, dueAt: 15_000 }, silent))
      const { endpoint, id, topic } = subscription
      const notificationId = `${delivery.notification.id}-${id}`
      const common = { subscriptionId: id, topic, endpoint, sequence: 1, notificationId }
      const last = { ...common, outcome: "dropped", attempt: 2, triedAt: 15_100, ...silent }
      const first = { ...common, outcome: "failed", attempt: 1, triedAt: 10_000, ...refused, nextTry: 15_000 }
      assert.deepStrictEqual(withoutIds(yield* list({ accountId: account.id })), [last, first] as unknown)
      assert.deepStrictEqual(withoutIds(yield* list({ accountId: account.id, limit: 1 })), [last] as unknown)
      const ids = tries(yield* list({ limit: 10_000 })).map(({ subscriptionId }) => subscriptionId)
      assert.includeMembers(ids, [id, other.subscription.id])
      yield* outbox.confirm(other.delivery.id)
      yield* outbox.flush
      assert.strictEqual((yield* list({ accountId: other.account.id })).items.length, 1)
    }))

  it.effect("keeps successes beside failures, without their answer", () =>
    Effect.gen(function*() {
      const { recordDelivery, flush } = yield* DeliveryLog
      const outbox = yield* Outbox
      const { account, delivery, subscription } = yield* queued
      yield* at(1_000)(outbox.postpone(delivery, 6_000, refused))
      yield* at(6_000)(recordDelivery({ ...delivery, attempt: 1 }, delivered))
      const accepted = { code: 0, message: "The XMPP server accepted the message." }
      yield* at(7_000)(recordDelivery({ ...delivery, sequence: 2, isPart: true }, accepted))
      yield* flush
      const { endpoint, id, topic } = subscription
      const notificationId = `${delivery.notification.id}-${id}`
      const common = { outcome: "delivered", subscriptionId: id, topic, endpoint }
      const page = yield* list({ accountId: account.id })
      assert.deepStrictEqual(
        withoutIds(page).slice(0, 2),
        [
          { ...common, sequence: 2, attempt: 1, triedAt: 7_000, ...accepted, notificationId: `${notificationId}-2` },
          { ...common, sequence: 1, attempt: 2, triedAt: 6_000, ...delivered, notificationId }
        ] as unknown
      )
      assert.deepStrictEqual(tries(page).map(({ outcome }) => outcome), ["delivered", "delivered", "failed"])
    }))

  it.effect("deletes old attempts and ends, and those of a removed subscription", () =>
    Effect.gen(function*() {
      const { pruneDeliveryLog } = yield* Retention
      const { recordDelivery, recordEnd, flush } = yield* DeliveryLog
      const outbox = yield* Outbox
      const { account, delivery, subscription } = yield* queued
      const { endpoint, host, id, topic } = subscription
      const denied = { outcome: "denied" as const, accountId: account.id, topic, endpoint, host, ...silent }
      yield* at(1_000)(recordEnd(denied))
      yield* at(2_000)(outbox.postpone(delivery, 3_000, refused))
      yield* at(3_000)(recordDelivery({ ...delivery, sequence: 9 }, delivered))
      yield* flush
      const times = Effect.map(list({ accountId: account.id }), ({ items }) => items.map(({ triedAt }) => triedAt))
      assert.isAtLeast(yield* pruneDeliveryLog(2_000, 10_000), 1)
      assert.deepStrictEqual(yield* times, [3_000, 2_000])
      while ((yield* pruneDeliveryLog(2_001, 1)) > 0);
      assert.deepStrictEqual(yield* times, [3_000])
      yield* SubscriptionStore.use((store) => store.remove(id))
      assert.deepStrictEqual(yield* times, [])
    }))
}

const rings = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.effect(
    "keeps the last 64 failures and 16 successes of a subscription, however many attempts each had",
    () =>
      Effect.gen(function*() {
        const outbox = yield* Outbox
        const { recordDelivery, flush } = yield* DeliveryLog
        const { account, delivery } = yield* queued
        for (let n = 1; n <= 70; n++) {
          const tried: Delivery = { ...delivery, attempt: n % 3 }
          yield* at(10_000 + n)(outbox.postpone(tried, 20_000, { ...refused, latency: n }))
          yield* at(20_000 + n)(recordDelivery({ ...delivery, sequence: n }, { ...delivered, latency: n }))
          if (n % 35 === 0) yield* flush
        }
        const kept = (outcome: "failed" | "delivered") =>
          Effect.map(list({ accountId: account.id, outcome }), ({ items }) => items.map(({ latency }) => latency))
        assert.deepStrictEqual(yield* kept("failed"), Array.from({ length: 64 }, (_, i) => 70 - i))
        assert.deepStrictEqual(yield* kept("delivered"), Array.from({ length: 16 }, (_, i) => 70 - i))
      }),
    30_000
  )

  it.effect("logs an attempt once, also when its statement is repeated", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { account, delivery } = yield* queued
      yield* at(1_000)(outbox.postpone(delivery, 3_000, refused))
      yield* at(2_000)(outbox.postpone(delivery, 3_000, refused))
      assert.deepStrictEqual(tries(yield* list({ accountId: account.id })).map(({ triedAt }) => triedAt), [2_000])
    }))

  it.effect("records everything of a subscription on request, for a while", () =>
    Effect.gen(function*() {
      const outbox = yield* Outbox
      const { flush, recordDelivery, startRecording } = yield* DeliveryLog
      const { account, delivery, subscription } = yield* queued
      const stranger = yield* newAccount
      const target = { accountId: account.id, subscriptionId: subscription.id }
      assert.strictEqual(yield* startRecording({ ...target, accountId: stranger.id }, 50_000), "unknown")
      assert.strictEqual(yield* startRecording({ ...target, subscriptionId: 2 ** 40 }, 50_000), "unknown")
      const now = Date.now()
      assert.strictEqual(yield* at(now)(startRecording(target, now + 60_000)), "started")
      for (let n = 1; n <= 70; n++) {
        yield* at(now + n)(outbox.postpone({ ...delivery, attempt: n }, now, refused))
        yield* at(now + n)(recordDelivery({ ...delivery, sequence: n }, delivered))
      }
      yield* at(now + 80)(flush)
      const count = (outcome: "failed" | "delivered") =>
        Effect.map(list({ ...target, outcome }), ({ items }) => items.length)
      assert.deepStrictEqual([yield* count("failed"), yield* count("delivered")], [70, 70])
      for (let n = 1; n <= 3; n++) {
        yield* at(now + 70_000 + n)(outbox.postpone({ ...delivery, attempt: 99 + n }, now, refused))
        assert.strictEqual((yield* list(target)).items[0]?.triedAt, now + 70_000 + n)
      }
      assert.isAtMost(yield* count("failed"), 73)
    }), 30_000)

  it.effect("records 20 subscriptions of an account at once", () =>
    Effect.gen(function*() {
      const { startRecording } = yield* DeliveryLog
      const account = yield* newAccount
      const ids: Array<number> = []
      for (let n = 0; n <= maxRecordings; n++) {
        ids.push((yield* subscribe(wantedBy(account.id))).subscription.id)
      }
      const start = (subscriptionId: number, now: number) =>
        at(now)(startRecording({ accountId: account.id, subscriptionId }, now + 1_000))
      for (const id of ids.slice(0, maxRecordings)) assert.strictEqual(yield* start(id, 1_000), "started")
      const last = ids.at(-1) ?? 0
      assert.strictEqual(yield* start(last, 1_500), "too-many")
      assert.strictEqual(yield* start(ids[0] ?? 0, 1_500), "started")
      assert.strictEqual(yield* start(last, 2_100), "started")
    }))
}

/** Two subscriptions of an account with attempts of several results, and an end and a denial between them. */
const mixed = Effect.gen(function*() {
  const account = yield* newAccount
  const host = unique("a") + ".example"
  const one = yield* subscribe(wantedBy(account.id, { endpoint: `https://${host}/1`, host }))
  const two = yield* subscribe(wantedBy(account.id))
  const outbox = yield* Outbox
  const log = yield* DeliveryLog
  const [first = assert.fail()] = yield* record(found(one.resource, [entry("a")]))
  const [second = assert.fail()] = yield* record(found(two.resource, [entry("b")]))
  yield* at(1_000)(outbox.postpone(first, 2_000, refused))
  yield* at(2_000)(outbox.postpone(second, 3_000, silent))
  yield* at(3_000)(log.recordDelivery({ ...second, sequence: 5 }, delivered))
  yield* log.flush
  const end = {
    accountId: account.id,
    topic: one.subscription.topic,
    endpoint: one.subscription.endpoint,
    host,
    code: 410,
    message: "The callback answered 410.",
    reason: "gone" as const
  }
  yield* at(4_000)(
    log.recordEnd({ outcome: "ended", subscriptionId: one.subscription.id, sequence: 1, attempt: 1, ...end })
  )
  const denied = {
    outcome: "denied",
    ...end,
    host: "b.example",
    topic: "https://b.example/",
    code: 0,
    message: "no"
  } as const
  yield* at(5_000)(log.recordEnd({ ...denied, reason: "refused-intent" }))
  yield* at(6_000)(
    outbox.drop({ ...first, attempt: 1 }, { ...refused, code: 500, message: "The callback answered 500." })
  )
  return { account, host, one, two }
})

const filters = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.effect("filters by subscription, host, topic, outcome, reason, code and time, alone and together", () =>
    Effect.gen(function*() {
      const { account, host, one, two } = yield* mixed
      const seconds = (query: Partial<DeliveryQuery>) =>
        Effect.map(
          list({ accountId: account.id, ...query }),
          ({ items }) => items.map(({ triedAt }) => triedAt / 1_000)
        )
      const topicOf = (url: string) => ({ canonical: url, given: url })
      assert.deepStrictEqual(yield* seconds({}), [6, 5, 4, 3, 2, 1])
      assert.deepStrictEqual(yield* seconds({ subscriptionId: one.subscription.id }), [6, 4, 1])
      assert.deepStrictEqual(yield* seconds({ host }), [6, 4, 1])
      assert.deepStrictEqual(yield* seconds({ host: "b.example" }), [5])
      assert.deepStrictEqual(yield* seconds({ topic: topicOf(two.subscription.topic) }), [3, 2])
      assert.deepStrictEqual(yield* seconds({ topic: topicOf("https://b.example/") }), [5])
      assert.deepStrictEqual(yield* seconds({ topic: topicOf("https://unknown.example/") }), [])
      assert.deepStrictEqual(yield* seconds({ outcome: "failed" }), [2, 1])
      assert.deepStrictEqual(yield* seconds({ outcome: "dropped" }), [6])
      assert.deepStrictEqual(yield* seconds({ outcome: "delivered" }), [3])
      assert.deepStrictEqual(yield* seconds({ outcome: "ended" }), [4])
      assert.deepStrictEqual(yield* seconds({ outcome: "denied" }), [5])
      assert.deepStrictEqual(yield* seconds({ outcome: "bounced" }), [])
      assert.deepStrictEqual(yield* seconds({ reason: "server-error" }), [6, 1])
      assert.deepStrictEqual(yield* seconds({ reason: "timeout" }), [2])
      assert.deepStrictEqual(yield* seconds({ reason: "gone" }), [4])
      assert.deepStrictEqual(yield* seconds({ reason: "refused-intent" }), [5])
      assert.deepStrictEqual(yield* seconds({ code: 503 }), [1])
      assert.deepStrictEqual(yield* seconds({ code: 500 }), [6])
      assert.deepStrictEqual(yield* seconds({ code: 0 }), [5, 2])
      assert.deepStrictEqual(yield* seconds({ from: 2_000, to: 5_000 }), [4, 3, 2])
      const lastTime = Date.parse("9999-12-31T23:59:59Z")
      assert.deepStrictEqual(yield* seconds({ from: lastTime }), [])
      assert.deepStrictEqual(yield* seconds({ from: 5_000, to: lastTime }), [6, 5])
      assert.deepStrictEqual(yield* seconds({ host, code: 503 }), [1])
      assert.deepStrictEqual(yield* seconds({ host, outcome: "delivered" }), [])
      const topic = topicOf(one.subscription.topic)
      assert.deepStrictEqual(yield* seconds({ topic, host, reason: "server-error", from: 1_001 }), [6])
      assert.deepStrictEqual(yield* seconds({ topic, host: "callback.example" }), [])
      assert.deepStrictEqual(yield* seconds({ subscriptionId: two.subscription.id, host }), [])
      assert.deepStrictEqual(yield* seconds({ subscriptionId: two.subscription.id, outcome: "failed" }), [2])
    }))

  it.effect("pages through all events once, with any filter and any size", () =>
    Effect.gen(function*() {
      const { account, host, one } = yield* mixed
      const topic = { canonical: one.subscription.topic, given: one.subscription.topic }
      for (
        const filter of [{}, { host }, { topic }, { subscriptionId: one.subscription.id }, {
          host,
          reason: "server-error"
        }] as const
      ) {
        const query = { accountId: account.id, ...filter }
        const { items: all } = yield* list(query)
        for (const limit of [1, 2, 3, 6, 7]) {
          const seen: Array<LoggedAttempt | LoggedDenial> = []
          let page: DeliveryPage = { items: [] }
          do {
            page = yield* list({ ...query, limit, ...(page.next !== undefined && { after: page.next }) })
            assert.isAtMost(page.items.length, limit)
            seen.push(...page.items)
          } while (page.next !== undefined)
          assert.deepStrictEqual(seen, all)
        }
      }
    }))

  it.effect("shows no account the events of another one, whatever it asks for", () =>
    Effect.gen(function*() {
      const { find } = yield* DeliveryLog
      const { account, host, one } = yield* mixed
      const stranger = yield* newAccount
      const topic = { canonical: one.subscription.topic, given: one.subscription.topic }
      for (
        const filter of [{}, { host }, { topic }, { subscriptionId: one.subscription.id }, { code: 503 }, {
          outcome: "denied"
        }] as const
      ) {
        assert.deepStrictEqual(yield* list({ accountId: stranger.id, ...filter }), { items: [] })
      }
      const { items } = yield* list({ accountId: account.id })
      for (const { id } of items) {
        const place = parseLogId(id) ?? assert.fail()
        assert.isTrue(Option.isNone(yield* find(place, stranger.id)))
        for (const owner of [account.id, undefined]) {
          assert.strictEqual(Option.getOrUndefined(yield* find(place, owner))?.event.id, id)
        }
      }
    }))
}

const ends = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.effect("keeps how subscriptions ended, and what callbacks did not agree to, when they are gone", () =>
    Effect.gen(function*() {
      const { recordEnd } = yield* DeliveryLog
      const { account, subscription } = yield* queued
      const { endpoint, host, id, topic } = subscription
      const gone = {
        code: 410,
        message: "The callback answered 410.",
        reason: "gone",
        answer: "gone\u0000",
        latency: 5
      } as const
      const denied = { topic, endpoint, code: 0, message: "no", reason: "refused-intent" } as const
      const tried = { subscriptionId: id, topic, endpoint, sequence: 7, attempt: 2 }
      yield* at(1_000)(recordEnd({ outcome: "ended", accountId: account.id, host, ...tried, ...gone }))
      yield* at(2_000)(recordEnd({ outcome: "denied", accountId: account.id, host, ...denied }))
      yield* at(3_000)(recordEnd({ outcome: "denied", accountId: 2 ** 30, host, ...denied }))
      yield* SubscriptionStore.use((store) => store.remove(id))
      const [last, first] = withoutIds(yield* list({ accountId: account.id }))
      assert.deepStrictEqual(last as unknown, { outcome: "denied", triedAt: 2_000, ...denied })
      assert.deepInclude(first, { outcome: "ended", triedAt: 1_000, ...tried, code: 410, reason: "gone", latency: 5 })
      assert.include(first?.answer, "gone")
    }))
}

const details = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.effect("finds an attempt with its notification, until a later attempt has its slot", () =>
    Effect.gen(function*() {
      const { find } = yield* DeliveryLog
      const outbox = yield* Outbox
      const { account, delivery } = yield* queued
      yield* at(1_000)(outbox.postpone(delivery, 2_000, refused))
      yield* at(2_000)(outbox.postpone({ ...delivery, attempt: 1 }, 2_000, refused))
      const { items: [item = assert.fail()] } = yield* list({ accountId: account.id })
      const place = parseLogId(item.id) ?? assert.fail()
      const detail = Option.getOrUndefined(yield* find(place, account.id))
      assert.deepStrictEqual(detail?.event, item)
      const { attempt, credits, sequence } = detail?.delivery ?? assert.fail()
      assert.deepStrictEqual([attempt, credits, sequence], [1, delivery.credits, 1])
      assert.deepStrictEqual(idsOf(detail?.delivery), ["a"])
      for (const other of [{ ...place, position: place.position + 1n }, { position: place.position }]) {
        assert.isTrue(Option.isNone(yield* find(other, account.id)))
      }
    }))

  it.effect("finds a part of a split notification with its own entries", () =>
    Effect.gen(function*() {
      const { find } = yield* DeliveryLog
      const outbox = yield* Outbox
      const made = yield* newSubscription()
      const [whole = assert.fail()] = yield* record(found(made.resource, [entry("a"), entry("b"), entry("c")]))
      yield* outbox.split(whole, { code: 413, message: "The callback answered 413.", reason: "too-large" })
      const { deliveries: [part = assert.fail()] } = yield* outbox.backlog(made.subscription.id, 1)
      yield* outbox.postpone(part, 9_000, refused)
      const { items } = yield* list({ accountId: made.account.id })
      const entriesOf = (one: LoggedAttempt | LoggedDenial | undefined) =>
        Effect.map(
          find(parseLogId(one?.id ?? "") ?? assert.fail(), made.account.id),
          (detail) => idsOf(Option.getOrUndefined(detail)?.delivery)
        )
      assert.deepStrictEqual(items.map(({ code }) => code), [503, 413])
      assert.deepStrictEqual(yield* entriesOf(items[0]), ["a"])
      assert.deepStrictEqual(yield* entriesOf(items[1]), ["c", "b", "a"])
      assert.strictEqual(tries({ items })[0]?.notificationId, `${part.notification.id}-${made.subscription.id}-1`)
      assert.isUndefined(parseLogId("1-2-x"))
      assert.strictEqual(formatLogId(7n, { subscriptionId: 3, slot: 2 }), "3-2-7")
    }))
}
