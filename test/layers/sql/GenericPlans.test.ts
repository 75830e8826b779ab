import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { matchAll } from "#domain/Search.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { sqlWithGenericPlans } from "#layers/sql/GenericPlans.ts"
import { engines } from "#test/support/Databases.ts"
import { entry, found, newSubscription, record, unchanged } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

/** Runs each statement of polls, pings, deliveries and pages, one after the other and so on one connection. */
const runAll = Effect.gen(function*() {
  const { account, resource, subscription } = yield* newSubscription()
  const resources = yield* ResourceStore
  const outbox = yield* Outbox
  const pings = yield* Pings
  yield* resources.find(resource.url)
  yield* resources.findSubscribed(account.id, resource.url, 10)
  yield* resources.findPinged(resource.url, 10)
  yield* resources.load(resource.id)
  const [first] = yield* record(found(resource, [entry("a"), entry("b")]))
  yield* record({ ...unchanged(resource), updated: [entry("a", { title: { value: "Another title", type: "text" } })] })
  yield* resources.touch({ id: resource.id, nextFetch: 2, lastFetch: 1, period: 60, code: 304, failures: 0 })
  yield* resources.flush
  const subscriptions = yield* SubscriptionStore
  yield* subscriptions.load(subscription.id)
  yield* subscriptions.findByTopic(account.id, resource.url)
  const listed = { accountId: account.id, page: 1, byPage: 20 }
  yield* subscriptions.list(listed)
  yield* subscriptions.list({ ...listed, after: 0 })
  yield* subscriptions.list({ ...listed, after: subscription.id, newestFirst: true })
  yield* subscriptions.list({ ...listed, search: matchAll })
  yield* subscriptions.listBriefly(listed)
  yield* subscriptions.listBriefly({ ...listed, page: 6 })
  yield* subscriptions.listBriefly({ ...listed, search: matchAll })
  const entries = yield* EntryStore
  yield* entries.page({ resourceIds: [resource.id], count: 10 })
  yield* entries.page({ resourceIds: [resource.id, resource.id + 1], count: 10, order: "stored", after: "a" })
  yield* entries.findById([resource.id], ["a"])
  yield* SubscriptionHealth.use((store) => store.saveFailing(subscription.id, { since: 1, announced: 0 }))
  yield* outbox.backlog(subscription.id, 64)
  yield* NotificationLog.use((log) => log.readAfter(resource.id, 0, 10))
  yield* NotificationLog.use((log) => log.heads([resource.id]))
  const { url: topic } = resource
  yield* pings.record({ accountId: account.id, topic, canonical: topic, withContent: false }, 10)
  yield* pings.resolve(resource.id, Date.now() + 1_000, { _tag: "Unchanged", code: 304 })
  yield* pings.list({ accountId: account.id, limit: 1 }) // writes the outcome
  if (first === undefined) return yield* Effect.die("no delivery")
  const attempt = { code: 500, message: "no", latency: 1, bytes: 1 }
  yield* outbox.postpone(first, Date.now(), attempt)
  yield* outbox.hold(subscription.id, Date.now(), 1)
  yield* outbox.restartWaiting(subscription.id, 1)
  yield* outbox.dropOlder(subscription.id, 1)
  yield* outbox.confirm(first.id)
  yield* outbox.flush
  const log = yield* DeliveryLog
  yield* log.recordDelivery(first, { ...attempt, code: 200 })
  yield* log.flush
})

/** Thousands of rows in each table. */
const grow = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const n = 3_000
  for (
    const statement of [
      `insert into resources (key, url, host, partition, kind, created_at)
      select decode(md5(n::text), 'hex'), 'https://h' || n || '.example/' || case when n % 9 = 0 then '#a' else '' end, 'h' || n, 7, 1, now()
      from generate_series(1, ${n}) n`,
      "insert into schedule (resource_id, next_fetch, period, partition) select id, now(), 60, partition from resources on conflict do nothing",
      "insert into resource_state (resource_id) select id from resources on conflict do nothing",
      `insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
      select 0, id, url, 0, 'https://callback.example/' || id, 'callback.example', 1, 1, now() from resources`,
      "insert into entries (resource_id, hash, first_seen, body) select id, n, now(), '{}' from resources, generate_series(1, 3) n",
      `insert into notifications (resource_id, kind, status, entry_seqs, created_at, sequence)
      select id, 0, '{}', array[1, 2], now(), n from resources, generate_series(100, 102) n`,
      `insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at)
      select id, id, n, 7, 0, now(), now() from subscriptions, generate_series(100, 102) n`,
      `insert into delivery_log (id, subscription_id, resource_id, sequence, account_id, host_key, slot, attempt, result)
      select id, id, id, 1, 0, 0, n, 1, 200 from subscriptions, generate_series(100, 102) n`,
      `insert into pings (topic, resource_id, with_content, received_at, outcome)
      select url, id, false, now(), null from resources`
    ]
  ) yield* sql.unsafe(statement).unprepared
})

interface Prepared {
  readonly name: string
  readonly statement: string
  readonly parameters: number
  readonly custom: number
}

/** The statements that the connection of this client has prepared. The names of one connection begin alike. */
const selectPrepared = Effect.gen(function*() {
  const sql = yield* sqlWithGenericPlans
  yield* sql`select 'marker'`
  return yield* sql.unsafe<Prepared>(
    `select s.name, s.statement, cardinality(s.parameter_types) as parameters, s.custom_plans::int4 as custom
    from pg_prepared_statements s, pg_prepared_statements m
    where m.statement like '%''marker''%' and substring(s.name for 24) = substring(m.name for 24)`
  ).unprepared
})

/** The kept plan of a statement. */
const explain = Effect.fnUntraced(function*({ name, parameters }: Prepared) {
  const sql = yield* sqlWithGenericPlans
  const values = parameters === 0 ? "" : `(${Array.from({ length: parameters }, () => "null").join(", ")})`
  const rows = yield* sql.unsafe<{ "QUERY PLAN": string }>(`explain execute "${name}"${values}`).unprepared
  return rows.map((row) => row["QUERY PLAN"])
})

/** Tables that grow with the resources, subscriptions and notifications. Accounts are few, and come slowly. */
const large =
  /\bon (resources|schedule|resource_state|entries|subscriptions|notifications|deliveries|delivery_log|pings)\b/

/** The scans of a plan that read a whole table: sequential ones, those of an index without a condition, and those into a hash. */
const wholeScans = (plan: ReadonlyArray<string>): ReadonlyArray<string> =>
  plan.filter((line, i) => {
    if (/Seq Scan on|hashed SubPlan/.test(line)) return /hashed/.test(line) || large.test(line)
    const next = plan[i + 1] ?? ""
    return /Index (Only )?Scan/.test(line) && (/Bitmap Index/.test(line) || large.test(line)) &&
      !next.includes("Index Cond")
  })

const assertNoWholeScans = Effect.gen(function*() {
  const prepared = yield* selectPrepared
  assert.isAtLeast(prepared.length, 24)
  const found: Array<string> = []
  for (const statement of prepared) {
    assert.strictEqual(statement.custom, 0, statement.statement)
    const plan = yield* explain(statement)
    for (const scan of wholeScans(plan)) found.push(`${scan.trim()}\n${statement.statement}\n${plan.join("\n")}`)
  }
  assert.deepStrictEqual(found, [])
})

for (const engine of engines) {
  describe.skipIf(!engine.available)(`GenericPlans, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("applies to its own client only", () =>
        Effect.gen(function*() {
          const modeOf = (sql: SqlClient.SqlClient) =>
            Effect.map(sql<{ plan_cache_mode: string }>`show plan_cache_mode`, ([row]) => row?.plan_cache_mode)
          const modes = Effect.all([
            Effect.flatMap(sqlWithGenericPlans, modeOf),
            Effect.flatMap(SqlClient.SqlClient, modeOf)
          ])
          assert.deepStrictEqual(yield* modes, ["force_generic_plan", "auto"])
          assert.deepStrictEqual(yield* modes, ["force_generic_plan", "auto"])
        }))

      it.effect("plans each statement once and by index, over empty tables and over grown ones", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          yield* sql`vacuum (analyze)`.unprepared
          yield* runAll
          yield* assertNoWholeScans
          yield* grow
          yield* (engine.name === "embedded" ? sql`discard plans` : sql`analyze`)
          yield* runAll
          yield* assertNoWholeScans
        }))

      it.effect("charges accounts by an upsert, because an update of a changed row prepares the whole statement again", () =>
        Effect.gen(function*() {
          yield* runAll
          const records = (yield* selectPrepared).filter(({ statement }) => statement.includes("credit_ledger"))
          assert.isAtLeast(records.length, 1)
          for (const statement of records) {
            const plan = (yield* explain(statement)).join("\n")
            assert.include(plan, "Conflict Arbiter Indexes: accounts_pkey")
            assert.notInclude(plan, "Update on accounts")
          }
        }))
    })
  })
}
