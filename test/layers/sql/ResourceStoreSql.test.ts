import { assert, describe, layer } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer, Option, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "#domain/ports/Outbox.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { sqlWithGenericPlans } from "#layers/sql/GenericPlans.ts"
import { seenSql } from "#layers/sql/ResourceStoreSql.ts"
import { column } from "#layers/sql/Values.ts"
import { engines } from "#test/support/Databases.ts"
import {
  entry,
  found,
  idsOf,
  newAccount,
  newSubscription,
  record,
  subscribe,
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

for (const engine of engines) {
  describe.skipIf(!engine.available)(`ResourceStoreSql, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect(
        "fans one change out to 10,000 subscriptions and records the credits in the ledger",
        () =>
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            const { account, resource, subscription } = yield* newSubscription()
            yield* sql`insert into subscriptions
            (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
            select account_id, resource_id, topic, channel, endpoint || n, host, face, state, created_at
            from subscriptions, generate_series(1, 9999) n where id = ${BigInt(subscription.id)}`
            const deliveries = yield* record(found(resource, [entry("a")]))
            assert.strictEqual(deliveries.length, 10_000)
            assert.strictEqual(new Set(deliveries.map(({ notification }) => notification)).size, 1)
            // compared as text: as arrays of this size it takes seconds
            assert.strictEqual(deliveries.map(({ credits }) => -credits).join(), deliveries.map((_, i) => i + 1).join())
            const ids = deliveries.map(({ subscriptionId }) => subscriptionId)
            assert.strictEqual(ids.join(), ids.toSorted((x, y) => x - y).join())
            const last = yield* Outbox.use((outbox) => outbox.backlog(ids.at(-1) ?? 0, 2))
            assert.deepStrictEqual([last.deliveries, last.nextSequence], [deliveries.slice(-1), 2])
            const ledger = yield* sql<{ delta: number }>`
            select sum(delta)::float8 as delta from credit_ledger where account_id = ${account.id} and kind = 0`
            assert.deepStrictEqual(ledger, [{ delta: -10_000 }])
          })
      )

      for (const order of ["before", "after"]) {
        it.effect(`records a write whose JSON is too long for a statement only by its escapes, and the one ${order} it`, () =>
          Effect.gen(function*() {
            const { resource: long } = yield* newSubscription()
            const { resource: short } = yield* newSubscription()
            const html = { value: "<p class=\"x\">\n".repeat(9_500), type: "html" }
            const writes = [
              found(
                { ...long, signature: 5n },
                Array.from({ length: 28 }, (_, i) => entry(`${i}`, { content: [html] }))
              ),
              found({ ...short, signature: 6n }, [entry("short")])
            ]
            const ordered = order === "before" ? writes.toReversed() : writes
            const deliveries = yield* Effect.forEach(ordered, record, { concurrency: "unbounded" })
            const counts = deliveries.map(([delivery]) => idsOf(delivery).length)
            assert.deepStrictEqual(counts, order === "before" ? [1, 28] : [28, 1])
            const store = yield* ResourceStore
            const signatures = yield* Effect.forEach(
              [long, short],
              ({ id }) => Effect.map(store.load(id), (state) => Option.getOrUndefined(state)?.signature)
            )
            assert.deepStrictEqual(signatures, [5n, 6n])
          }))
      }

      // The embedded engine runs one transaction after the other.
      if (engine.name === "server") {
        it.effect("charges the newest state of an account that another runner changes meanwhile", () =>
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            const otherSession = yield* sqlWithGenericPlans
            const { account, resource } = yield* newSubscription()
            const changed = yield* Latch.make(false)
            const recording = yield* Effect.forkChild(
              Effect.andThen(changed.await, record(found(resource, [entry("a")])))
            )
            const login = unique("renamed")
            yield* sql.withTransaction(Effect.gen(function*() {
              yield* sql`update accounts set credits = 100, login = ${login} where id = ${account.id}`
              yield* changed.open
              yield* otherSession<{ waiting: number }>`select count(*)::int4 as waiting from pg_stat_activity
              where datname = current_database() and wait_event_type = 'Lock'`.pipe(
                Effect.repeat({ until: ([row]) => row?.waiting === 1, schedule: Schedule.spaced("10 millis") })
              )
            }))
            const deliveries = yield* Fiber.join(recording)
            assert.deepStrictEqual(deliveries.map(({ credits }) => credits), [99])
            const accounts = yield* sql<{ login: string; credits: number }>`
            select login, credits::float8 as credits from accounts where id >= ${account.id} order by id`
            assert.deepStrictEqual(accounts, [{ login, credits: 99 }])
          }))
      }

      it.effect("gives the alarm of a watched resource that a race has noted as unwatched", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const { resource } = yield* newSubscription({ partition: 130 })
          yield* sql`update resources set unwatched_since = now() where id = ${BigInt(resource.id)}`
          const all = yield* Effect.forEach([130, 131, 132], (one) => ResourceStore.use((store) => store.alarms(one)), {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual(all.map(({ ids }) => [...ids]), [[resource.id], [], []])
        }))

      it.effect("leaves out large entries of a subscribed resource, and gives the others of the same statement", () =>
        Effect.gen(function*() {
          const store = yield* ResourceStore
          const { account, resource: large } = yield* newSubscription()
          const { resource: small } = yield* subscribe(wantedBy(account.id))
          const content = [{ value: "x".repeat(100 * 1024), type: "text" }]
          const [a, b, c] = [entry("a", { content }), entry("b", { content }), entry("c", { content })]
          yield* record(found(large, [a, b, c]))
          yield* record(found(small, [entry("small")]))
          const newest = yield* Effect.forEach(
            [[large, 2], [large, 3], [small, 3]] as const,
            ([{ url }, count]) => store.findSubscribed(account.id, url, count),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(newest.map((one) => Option.getOrUndefined(one)?.newest), [[c, b], undefined, [
            entry("small")
          ]])
        }))

      it.effect(
        "finds the subscribed resource of an account by index, with any number of subscriptions",
        () =>
          Effect.gen(function*() {
            const sql = yield* SqlClient.SqlClient
            const { resource: popular } = yield* newSubscription()
            const account = yield* newAccount
            const topic = { given: popular.url, canonical: popular.url, host: popular.host }
            yield* subscribe(wantedBy(account.id, { topic }))
            yield* sql`insert into subscriptions
            (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
            select account_id, resource_id, topic, channel, endpoint || n, host, face, state, created_at
            from subscriptions, generate_series(1, 5000) n where resource_id = ${BigInt(popular.id)}`
            const { resource } = yield* subscribe(wantedBy(account.id))
            yield* sql`analyze subscriptions`
            const plan = yield* sql.unsafe<{ "QUERY PLAN": string }>(`explain ${seenSql}`, [
              column.texts([resource.url]),
              column.integers([account.id]),
              column.integers([10]),
              column.versions([undefined])
            ])
            const steps = plan.map((row) => row["QUERY PLAN"]).join("\n")
            assert.include(steps, "using subscriptions_resource_id_account_id_endpoint_face_key")
            assert.notInclude(steps, "subscriptions_pkey")
            const run = yield* sql.unsafe<{ "QUERY PLAN": string }>(`explain (analyze, timing off) ${seenSql}`, [
              column.texts([popular.url]),
              column.integers([account.id]),
              column.integers([10]),
              column.versions([undefined])
            ])
            const read = run.map((row) => /subscriptions.*actual rows=([\d.]+)/.exec(row["QUERY PLAN"])?.[1])
            assert.deepStrictEqual(read.filter((rows) => rows !== undefined).map(Number), [1_000])
          })
      )
    })
  })
}
