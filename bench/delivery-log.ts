/**
 * Time of a page of the delivery log for each filter, and CPU of the database: `bin/node bench/delivery-log.ts postgres://… [attempts, 10 million]`.
 *
 * The database has to be empty, and stays filled. A second run with 0 attempts measures it again.
 */
import { Clock, Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import type { DeliveryQuery } from "#domain/delivery/DeliveryLogEntry.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import * as DeliveryLogSql from "#layers/sql/DeliveryLogSql.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { measureProcess } from "./ProcessUsage.ts"

const [, , url = "", countText = "10000000"] = process.argv
const attempts = Number(countText)
const perSubscription = 80
const subscriptions = Math.ceil(attempts / perSubscription)
const accounts = 50
const resources = 20_000

const dayMs = 86_400_000

/** Rows of one insert. */
const batch = 4_000

/** Account 1 has half of the subscriptions, and half of these are on one host. */
const fillSubscriptions = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    `insert into accounts (login, password_hash, created_at) select 'a' || n, '', now() from generate_series(1, ${accounts}) n`
  )
  yield* sql.unsafe(
    `insert into resources (key, url, host, partition, kind, created_at)
    select substring(sha256(convert_to(url, 'UTF8')) for 16), url, 'feeds.example', n % 256, 1, now()
    from generate_series(1, ${resources}) n, lateral (select 'https://feeds.example/' || n as url) u`
  )
  yield* sql.unsafe(
    `insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
    select case when n % 2 = 0 then 1 else 2 + n % ${
      accounts - 1
    } end, 1 + n % ${resources}, 'https://feeds.example/' || 1 + n % ${resources}, 0,
      'https://' || host || '/' || n, host, 0, 1, now()
    from generate_series(1, ${subscriptions}) n,
      lateral (select case when n % 4 = 0 then 'big.example' else 'h' || n % 5000 || '.example' end as host) h`
  )
  yield* sql.unsafe(`analyze`)
})

/** 64 failures and 16 successes per subscription, over 30 days. One result is rare. */
const fillAttempts = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const indexes = yield* sql.unsafe<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes where tablename = 'delivery_log' and indexname <> 'delivery_log_pkey'`
  )
  for (const { name } of indexes) yield* sql.unsafe(`drop index ${name}`)
  for (let first = 1; first <= subscriptions; first += batch) {
    yield* sql.unsafe(
      `insert into delivery_log (id, subscription_id, slot, sequence, attempt, result, notification_id, credits, message, answer, latency,
        bytes, next_try, account_id, resource_id, host_key)
      select ((${now} - (random() * ${30 * dayMs})::int8) << 21) | (nextval('log_positions') & 2097151), u.id,
        case when n < 64 then n else 1024 + n - 64 end, n, 1, result, n, -n, null,
        case when result between 300 and 599 then repeat('The server is busy. ', 5) end, 20, 1500,
        case when n < 64 then now() end, u.account_id, u.resource_id, hashtext(u.host)
      from generate_series(${first}, ${
        Math.min(first + batch, subscriptions + 1) - 1
      }) s join subscriptions u on u.id = s,
        generate_series(0, ${perSubscription - 1}) n,
        lateral (select case when n >= 64 then 200 when random() < 0.00001 + 0 * u.id then 501 when n < 40 then 503 when n < 55 then 6 when n < 60 then 404
          else -503 end as result) r`
    )
    process.stdout.write(`\r${(first * perSubscription).toLocaleString("en")} attempts`)
  }
  process.stdout.write("\rbuilding the indexes\n")
  for (const { definition } of indexes) yield* sql.unsafe(definition)
})

/** Runs per filter. Each takes the page behind the one before. */
const runs = 20

const queries = Effect.gen(function*() {
  const now = yield* Clock.currentTimeMillis
  const topic = (n: number) => ({ canonical: `https://feeds.example/${n}`, given: `https://feeds.example/${n}` })
  const mine = { accountId: 1 }
  return {
    "an account": mine,
    "a small account": { accountId: 7 },
    "a subscription": { ...mine, subscriptionId: 2_000 },
    "a host with a quarter of all": { ...mine, host: "big.example" },
    "a host with 13 subscriptions": { ...mine, host: "h2.example" },
    "a topic": { ...mine, topic: topic(101) },
    "outcome failed": { ...mine, outcome: "failed" },
    "outcome delivered": { ...mine, outcome: "delivered" },
    "outcome dropped": { ...mine, outcome: "dropped" },
    "outcome bounced (none)": { ...mine, outcome: "bounced" },
    "reason server-error": { ...mine, reason: "server-error" },
    "code 404": { ...mine, code: 404 },
    "code 501 (one in 100,000)": { ...mine, code: 501 },
    "a day": { ...mine, from: now - 20 * dayMs, to: now - 19 * dayMs },
    "host and code 501": { ...mine, host: "big.example", code: 501 },
    "topic, host and outcome": { ...mine, topic: topic(101), host: "h100.example", outcome: "delivered" },
    "all accounts": {},
    "all accounts, code 404": { code: 404 },
    "all accounts, a host": { host: "h2.example" }
  } satisfies Record<string, Omit<DeliveryQuery, "limit">>
})

/** Measures in one transaction, so that one process of the database does the work. */
const measure = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(Effect.gen(function*() {
    yield* sql.unsafe("set local max_parallel_workers_per_gather = 0")
    const [backend] = yield* sql.unsafe<{ pid: number }>("select pg_backend_pid() as pid")
    yield* measureAll(backend?.pid ?? 0)
  }))
})

const measureAll = Effect.fnUntraced(function*(pid: number) {
  const { list } = yield* DeliveryLog
  for (const [name, query] of Object.entries<Omit<DeliveryQuery, "limit">>(yield* queries)) {
    const times: Array<number> = []
    let after: string | undefined
    let rows = 0
    const cpuBefore = measureProcess(pid).cpu
    for (let i = 0; i < runs; i++) {
      const start = performance.now()
      const { items, next } = yield* list({ ...query, limit: 100, ...(after !== undefined && { after }) })
      times.push(performance.now() - start)
      rows += items.length
      after = next
    }
    const cpu = (measureProcess(pid).cpu - cpuBefore) * 1_000 / runs
    const [cold = 0] = times
    const sorted = times.toSorted((a, b) => a - b)
    const figures = [sorted[runs >> 1], sorted.at(-1), cold].map((time) => time?.toFixed(1).padStart(7))
    process.stdout.write(
      `${name.padEnd(32)} CPU ${cpu.toFixed(1).padStart(6)} ms, p50 ${figures[0]} ms, max ${figures[1]} ms, first ${
        figures[2]
      } ms, ${rows} rows\n`
    )
  }
})

/** Fills the database. The connections of the service end a statement after 30 s. */
const fill = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(Effect.gen(function*() {
    yield* sql.unsafe(`set local statement_timeout = 0`)
    yield* fillSubscriptions
    yield* fillAttempts
    yield* sql.unsafe("analyze")
  }))
})

const program = Effect.gen(function*() {
  yield* migrate
  if (attempts > 0) yield* fill
  yield* measure
})

const database = Postgres.layer({ url: Redacted.make(url) })
await Effect.runPromise(
  program.pipe(Effect.provide(DeliveryLogSql.layer.pipe(Layer.provideMerge(database))), Effect.scoped)
)
