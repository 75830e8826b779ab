/**
 * Cost of the API: `bin/node bench/api.ts [postgres://…]`. An empty database is filled with a million subscriptions.
 *
 * Requests: CPU seconds of the service, compared to a bare Effect route (`route.ts`) with the same number of bytes, in the same run.
 * Searches: CPU of the database per search, with the plan, because wall times vary on a busy machine. `--no-requests` measures the searches
 * only.
 */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Agent } from "undici"
import { parse } from "#domain/Search.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { type Likeness, searchSql } from "#layers/sql/SubscriptionSearch.ts"
import { measureProcess } from "./ProcessUsage.ts"
import { firstLine, outside, start, token } from "./Service.ts"
import { replaceSection } from "./Section.ts"

const node = join(import.meta.dirname, "../bin/node")
const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** CPU seconds of a process per 1,000 responses of an address, after a warm-up with a quarter of them. */
const measureCpu = async (pid: number, origin: string, path: string, count = 4_000): Promise<number> => {
  const agent = new Agent({ connections: 16 })
  const headers = { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` }
  /** Several workers share one iterator. */
  const run = async (turns: Iterable<number>) => {
    for (const _ of turns) {
      const { body, statusCode } = await agent.request({ origin, path, method: "GET", headers })
      const length = (await body.arrayBuffer()).byteLength
      if (statusCode !== 200) throw new Error(`${path}: ${statusCode}, ${length} bytes`)
    }
  }
  const all = (count: number) => {
    const turns = Array.from({ length: count }, (_, i) => i).values()
    return Promise.all(Array.from({ length: 16 }, () => run(turns)))
  }
  await all(count / 4)
  const before = measureProcess(pid).cpu
  await all(count)
  const seconds = measureProcess(pid).cpu - before
  await agent.close()
  return seconds * 1_000 / count
}

const measureRequests = async (): Promise<ReadonlyArray<string>> => {
  const service = await start(60)
  const bare = spawn(node, [join(import.meta.dirname, "route.ts")], { stdio: ["ignore", "pipe", "inherit"] })
  const floor = `http://127.0.0.1:${await firstLine(bare, /(\d+)/)}`
  for (let n = 0; n < 20; n++) {
    await service.call({
      "hub.mode": "subscribe",
      "hub.topic": `${outside}/same/${n}`,
      "hub.callback": `${outside}/hook/${n}`,
      retrieve: "true"
    })
  }
  const rows: Array<string> = []
  for (
    const [name, path] of [
      ["list, 20 of 20", "/?hub.mode=list"],
      [
        "retrieve, 10 entries, JSON",
        `/?hub.mode=retrieve&format=json&hub.topic=${encodeURIComponent(`${outside}/same/1`)}`
      ]
    ] as const
  ) {
    const { length } = await (await fetch(`${service.url}${path}`, {
      headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` }
    })).text()
    const rounds: Array<readonly [api: number, bare: number]> = []
    for (let round = 0; round < 3; round++) {
      rounds.push([
        await measureCpu(service.pid, service.url, path),
        await measureCpu(bare.pid ?? 0, floor, `/?size=${length}`)
      ])
    }
    const [api, least] = [median(rounds.map(([api]) => api)), median(rounds.map(([, bare]) => bare))]
    rows.push(
      `| ${name} (${length} bytes): CPU s per 1,000 | ${api.toFixed(3)} | ${least.toFixed(3)} | ${
        (least / api).toFixed(2)
      } |`
    )
  }
  bare.kill()
  await service.stop()
  return rows
}

/**
 * Fills the database: a vocabulary of 2,000 words, a third of the feeds on five hosts, half of the subscriptions in one account. One percent
 * of the feeds and of the callbacks fails. Indexes are built last.
 */
const fillDatabase = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const indexes = yield* sql<{ name: string; definition: string }>`
    select indexname as name, indexdef as definition from pg_indexes
    where tablename in ('subscriptions', 'resources') and indexdef not like 'CREATE UNIQUE%'`
  for (const { name } of indexes) yield* sql.unsafe(`drop index ${name}`)
  const word = (n: string) => `substr(md5((${n} % 2000)::text), 1, 4 + (${n} % 5)::int)`
  const statements = [
    `insert into accounts (login, password_hash, created_at) select 'a' || n, '', now() from generate_series(1, 402) n`,
    `insert into resources (key, url, host, partition, kind, velocity, popularity, porn_rank, bozo_rank, created_at)
    select substring(sha256(convert_to(url, 'UTF8')) for 16), url, host, n % 256, 1,
      case when hashint8(n) % 4 <> 0 then floor(exp(abs(hashint8(n) % 1000) / 150.0)) end, abs(hashint8(n + 1) % 1000) / 100.0,
      case when hashint8(n + 5) % 50 = 0 then abs(hashint8(n + 2) % 1000) / 1000.0 end,
      case when hashint8(n + 6) % 20 = 0 then abs(hashint8(n + 3) % 1000) / 1000.0 else 0 end, now()
    from (select n, host, 'https://' || host || '/' || ${word("(n * 7)")} || '/' || ${
      word("(n * 13 + 5)")
    } || '/feed-' || n || '.xml' as url
      from (select n, case when n % 3 = 0 then 'platform' || n % 5 || '.example'
        else ${word("(n * 31)")} || n || '.' || ${word("(n % 40)")} || '.example' end as host
        from generate_series(1, 700000) n) h) u`,
    `insert into schedule (resource_id, next_fetch, period, http_code)
    select id, now(), 900, case when id % 100 <> 0 then 200 + id % 2 * 104 when id % 200 = 0 then 503 else 404 end from resources`,
    `insert into resource_state (resource_id, in_error) select id, id % 100 = 0 from resources`,
    `insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, format, face, state, created_at, failing_since)
    select case when n <= 500000 then 1 when n <= 600000 then 2 else 3 + n % 400 end, r.id, r.url, case when n % 100 = 0 then 1 else 0 end,
      case when n % 100 = 0 then 'user' || n % 1000 || '@jabber' || n % 7 || '.example' when n % 2 = 0 then 'https://reader.example/push'
        else 'https://hooks' || n % 50 || '.example/' || ${word("(n * 3)")} || '/' || n end,
      case when n % 100 = 0 then 'jabber' || n % 7 || '.example' when n % 2 = 0 then 'reader.example' else 'hooks' || n % 50 || '.example' end,
      case n % 3 when 0 then 1 when 1 then 0 end, 0, 1, now(), case when n % 100 = 1 then now() end
    from generate_series(1, 1000000) n join resources r on r.id = 1 + (n::bigint * 7919) % 700000`,
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

const searches: ReadonlyArray<readonly [search: Record<string, string>, likeness: Likeness]> = [
  [{}, "exact"],
  [{ format: "json" }, "exact"],
  [{ "feed.url": "https://platform3.example/abc/feed" }, "exact"],
  [{ "feed.inurl": "feed-123456" }, "exact"],
  [{ "feed.inurl": "c4ca" }, "exact"],
  [{ "feed.inurl": "faed-12345" }, "similar"],
  [{ "feed.hostname": "platform3.example" }, "exact"],
  [{ "feed.hostname": "nobody.example" }, "exact"],
  [{ "feed.velocity": ">700" }, "exact"],
  [{ "feed.velocity": "3" }, "exact"],
  [{ "feed.bozo": ">0.9" }, "exact"],
  [{ "feed.porn": ">=0.5" }, "exact"],
  [{ "feed.popularity": ">9.9" }, "exact"],
  [{ "endpoint.jid": "user100@jabber2.example" }, "exact"],
  [{ "endpoint.domain": "jabber3.example" }, "exact"],
  [{ "endpoint.url": "https://reader.example/push" }, "exact"],
  [{ "endpoint.inurl": "hooks13.example" }, "exact"],
  [{ "endpoint.inurl": "hoooks13" }, "similar"],
  [{ "endpoint.hostname": "hooks7.example" }, "exact"],
  [{ "feed.velocity": ">300", "feed.hostname": "platform1.example", format: "json" }, "exact"],
  [{ "feed.failing": "true" }, "exact"],
  [{ "feed.failing": "false" }, "exact"],
  [{ "feed.code": "404" }, "exact"],
  [{ "feed.code": ">=500" }, "exact"],
  [{ "feed.code": "418" }, "exact"],
  [{ "feed.code": "304" }, "exact"],
  [{ "endpoint.failing": "true" }, "exact"],
  [{ "deliveries.dropped": ">0" }, "exact"],
  [{ "deliveries.dropped": ">99" }, "exact"]
]

const repeats = 40

const sumCpu = (pids: ReadonlyArray<number>) => pids.reduce((sum, pid) => sum + measureProcess(pid).cpu, 0)

const measureSearches = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* migrate
  const [filled] = yield* sql<{ some: boolean }>`select exists(select from subscriptions) as some`
  if (filled?.some !== true) yield* fillDatabase
  const rows: Array<string> = []
  for (const [keys, likeness] of searches) {
    const parameters: Array<unknown> = []
    const fit = searchSql(1, yield* Effect.fromResult(parse(Object.entries(keys), "search")), likeness, parameters)
    const text = `select u.id from ${fit} order by u.id limit 20`
    // one connection, so that one database process does the work
    const row = yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`set local max_parallel_workers_per_gather = 0`
      const [backend] = yield* sql<{ pid: number }>`select pg_backend_pid() as pid`
      const pids = [backend?.pid ?? 0]
      const plan = yield* sql.unsafe<{ "QUERY PLAN": string }>(`explain (analyze, timing off) ${text}`, parameters)
        .unprepared
      const before = sumCpu(pids)
      const walls: Array<number> = []
      for (let i = 0; i < repeats; i++) {
        const began = performance.now()
        yield* sql.unsafe(text, parameters).unprepared
        walls.push(performance.now() - began)
      }
      const cpu = (sumCpu(pids) - before) * 1_000 / repeats
      const nodes = plan.flatMap((line) => {
        const found = /(?:->|^)\s*((?:Bitmap |Index |Seq |Parallel )?[A-Z]\w* ?\w* Scan(?: using \w+)?(?: on \w+)?)/
          .exec(
            line["QUERY PLAN"]
          )?.[1]
        return found === undefined ? [] : [found.replaceAll(/\s+/g, " ").trim()]
      })
      const name = Object.entries(keys).map(([key, value]) => `\`${key}=${value}\``).join(", ") || "everything"
      return `| ${name}${likeness === "similar" ? " (similar)" : ""} | ${cpu.toFixed(1)} | ${
        median(walls).toFixed(1)
      } | ${nodes.join("; ")} |`
    }))
    rows.push(row)
    process.stdout.write(`${row}\n`)
  }
  return rows
})

const performancePath = join(import.meta.dirname, "../docs/performance.md")

/** Replaces one section. Sections without a measurement keep their text. */
const writeSection = (title: string, lines: ReadonlyArray<string>) =>
  writeFileSync(performancePath, replaceSection(readFileSync(performancePath, "utf8"), title, lines.join("\n")))

if (!process.argv.includes("--no-requests")) {
  const rows = await measureRequests()
  for (const row of rows) process.stdout.write(`${row}\n`)
  writeSection("The API", [
    "`bin/node bench/api.ts` compares the CPU of the service, with its embedded database, to a bare Effect route with a response of the same size, in the same run.",
    "",
    "| operation | service | bare route | bare / service |",
    "| --- | --- | --- | --- |",
    ...rows
  ])
}

const url = process.argv.find((argument) => argument.startsWith("postgres"))
if (url !== undefined) {
  const rows = await Effect.runPromise(Effect.provide(measureSearches, Postgres.layer({ url: Redacted.make(url) })))
  writeSection("Searching subscriptions", [
    "`bin/node bench/api.ts postgres://…` searches one page of 20, for an account with 500,000 of 1,000,000 subscriptions, on PostgreSQL 15. The columns are the CPU of the database, the median wall time and the scans of the plan.",
    "",
    "| search | CPU ms | wall ms | plan |",
    "| --- | --- | --- | --- |",
    ...rows
  ])
}
process.exit(0)
