import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Fills the database: a vocabulary of 2,000 words, a third of the million feeds on five hosts, half of the million
 * subscriptions in one account. One percent
 * of the feeds and of the callbacks fails. Indexes are built last.
 */
export const fillDatabase = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const indexes = yield* sql<{ name: string; definition: string }>`
    select indexname as name, indexdef as definition from pg_indexes
    where tablename in ('subscriptions', 'resources') and indexdef not like 'CREATE UNIQUE%'`
  for (const { name } of indexes) yield* sql.unsafe(`drop index ${name}`)
  const word = (n: string) => `substr(md5((${n} % 2000)::text), 1, 4 + (${n} % 5)::int)`
  const statements = [
    `insert into accounts (login, password_hash, created_at) select 'a' || n, '', now() from generate_series(1, 402) n`,
    `insert into resources (key, url, host, partition, kind, velocity, popularity, porn_rank, bozo_rank, created_at, unwatched_since)
    select substring(sha256(convert_to(url, 'UTF8')) for 16), url, host, n % 256, 1,
      case when hashint8(n) % 4 <> 0 then floor(exp(abs(hashint8(n) % 1000) / 150.0)) end, abs(hashint8(n + 1) % 1000) / 100.0,
      case when hashint8(n + 5) % 50 = 0 then abs(hashint8(n + 2) % 1000) / 1000.0 end,
      case when hashint8(n + 6) % 20 = 0 then abs(hashint8(n + 3) % 1000) / 1000.0 else 0 end, now(), null
    from (select n, host, 'https://' || host || '/' || ${word("(n * 7)")} || '/' || ${
      word("(n * 13 + 5)")
    } || '/feed-' || n || '.xml' as url
      from (select n, case when n % 3 = 0 then 'platform' || n % 5 || '.example'
        else ${word("(n * 31)")} || n || '.' || ${word("(n % 40)")} || '.example' end as host
        from generate_series(1, 1000000) n) h) u`,
    `insert into schedule (resource_id, next_fetch, period, partition, http_code)
    select id, now() + interval '1 day', 900, partition, case when id % 100 <> 0 then 200 + id % 2 * 104 when id % 200 = 0 then 503 else 404 end from resources`,
    `insert into resource_state (resource_id, in_error) select id, id % 100 = 0 from resources`,
    `insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, format, face, state, created_at, failing_since)
    select case when n <= 500000 then 1 when n <= 600000 then 2 else 3 + n % 400 end, r.id, r.url, case when n % 100 = 0 then 1 else 0 end,
      case when n % 100 = 0 then 'user' || n % 1000 || '@jabber' || n % 7 || '.example' when n % 2 = 0 then 'https://reader.example/push'
        else 'https://hooks' || n % 50 || '.example/' || ${word("(n * 3)")} || '/' || n end,
      case when n % 100 = 0 then 'jabber' || n % 7 || '.example' when n % 2 = 0 then 'reader.example' else 'hooks' || n % 50 || '.example' end,
      case n % 3 when 0 then 1 when 1 then 0 end, 0, 1, now(), case when n % 100 = 1 then now() end
    from generate_series(1, 1000000) n join resources r on r.id = 1 + (n::bigint * 7919) % 1000000`,
    `insert into deliveries (notification_id, subscription_id, sequence, partition, state, credits, due_at, created_at)
    select n, id, n, 0, 1, 0, now(), now() from subscriptions, generate_series(1, 20) n where failing_since is not null`,
    ...indexes.map(({ definition }) => definition),
    "analyze"
  ]
  yield* sql.withTransaction(Effect.gen(function*() {
    yield* sql`set local statement_timeout = 0`
    for (const statement of statements) yield* sql.unsafe(statement).unprepared
  }))
})
