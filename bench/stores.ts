// Throughput of the stores: bin/node bench/stores.ts [postgres://… of an empty database; an embedded one by default]
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { make as makeSecretBox, SecretBox } from "#layers/sql/SecretBox.ts"
import * as StoresSql from "#layers/sql/StoresSql.ts"

const url = process.argv[2]
const resources = 10_000
const changes = 4_096
/** Concurrent polls. */
const concurrency = 256

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "windhover-bench-"))
const database = url === undefined ? EmbeddedPostgres.layer({ directory }) : Postgres.layer({ url: Redacted.make(url) })
const stores = StoresSql.layer.pipe(
  Layer.provide(Layer.succeed(SecretBox, makeSecretBox([new Uint8Array(32)]))),
  Layer.provideMerge(Layer.effectDiscard(migrate).pipe(Layer.provideMerge(database)))
)

/** Creates resources with one subscription each, like the stores. */
const createResources = Effect.fnUntraced(function*(accountId: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`insert into resources (key, url, host, partition, kind, created_at)
    select substring(sha256(convert_to('https://h' || n || '.example/feed', 'UTF8')) for 16), 'https://h' || n || '.example/feed',
      'h' || n || '.example', n % 256, 1, now() from generate_series(1, ${resources}::int) n`
  yield* sql`insert into schedule (resource_id, next_fetch, period, partition) select id, now(), 900, partition from resources`
  yield* sql`insert into resource_state (resource_id, seen) select id, decode(repeat('00', 400), 'hex') from resources`
  yield* sql`insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
    select ${accountId}::int, id, url, 0, 'https://callback.example/' || id, 'callback.example', 0, 1, now() from resources`
  yield* sql`analyze`
})

/** Position of the write-ahead log, in bytes. */
const readWritten = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ written: number }>`select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as written`,
    ([row]) => row?.written ?? 0
  )
)

const measure = Effect.fnUntraced(function*<A, E, R>(what: string, count: number, work: Effect.Effect<A, E, R>) {
  const writtenBefore = yield* readWritten
  const start = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  const result = yield* work
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  const { system, user } = process.cpuUsage(cpu)
  const written = (yield* readWritten) - writtenBefore
  const row = {
    what,
    "a second": Math.round(count / seconds),
    "µs CPU of this process": Math.round((user + system) / count),
    "bytes of write-ahead log": Math.round(written / count)
  }
  return { result, row }
})

const program = Effect.gen(function*() {
  const store = yield* ResourceStore
  const outbox = yield* Outbox
  const account = yield* AccountStore.use((accounts) => accounts.create("bench", Redacted.make("bench")))
  yield* createResources(account.id)

  const alarms = yield* measure(
    "alarms loaded",
    resources,
    Effect.forEach(Array.from({ length: 256 }, (_, i) => i), store.alarms)
  )
  const ids = alarms.result.flatMap((partition) => [...partition.ids])
  const loads = yield* measure(
    "states loaded",
    changes,
    Effect.forEach(ids.slice(0, changes), store.load, { concurrency: 1_000 })
  )
  const touches = yield* measure(
    "unchanged polls written",
    10 * resources,
    Effect.forEach(Array.from({ length: 10 }), (_, round) =>
      Effect.andThen(
        Effect.forEach(ids, (id) =>
          store.touch({ id, nextFetch: round + 900_000, lastFetch: round + 1, period: 900, code: 304, failures: 0 })),
        store.flush
      ))
  )
  const summary = { type: "html", value: "x".repeat(1_000) }
  const records = yield* measure(
    "changed polls recorded, one new entry and one delivery each",
    changes,
    Effect.forEach(
      loads.result.flatMap((state) => state._tag === "Some" ? [state.value] : []),
      (state) =>
        store.record({
          state: { ...state, kind: "feed", lastFetch: 100, header: { title: { value: "Feed", type: "text" } } },
          entries: [{ id: `urn:entry:${state.id}`, title: { value: "New", type: "text" }, summary }],
          updated: [],
          announce: { _tag: "Entries", ids: [`urn:entry:${state.id}`] }
        }),
      { concurrency }
    )
  )
  const deliveries = records.result.flat()
  const confirms = yield* measure(
    "deliveries confirmed",
    deliveries.length,
    Effect.andThen(Effect.forEach(deliveries, ({ id }) => outbox.confirm(id)), outbox.flush)
  )
  const subscriptions = yield* SubscriptionStore
  const lists = yield* measure(
    "pages of 20 listed",
    100,
    Effect.forEach(
      Array.from({ length: 100 }, (_, i) => i + 1),
      (page) => subscriptions.list({ accountId: account.id, page, byPage: 20 })
    )
  )
  return [alarms, loads, touches, records, confirms, lists].map(({ row }) => row)
})

const rows = await Effect.runPromise(Effect.provide(program, stores)).finally(() => {
  fs.rmSync(directory, { recursive: true, force: true })
})
console.table(rows)
