/**
 * Time of each list with a million resources and a million subscriptions: `bin/node bench/lists.ts postgres://…`.
 *
 * An empty database is filled first. Each address is requested five times, one request at a time. `--write` replaces the section of the
 * document; `--only=TEXT` requests the addresses with the text.
 */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { fillDatabase } from "./FilledDatabase.ts"
import { replaceSection } from "./Section.ts"
import { authorization, start, stopOrigin, token } from "./Service.ts"

const repeats = 5

const url = process.argv.find((argument) => argument.startsWith("postgres"))
if (url === undefined) throw new Error("usage: bin/node bench/lists.ts postgres://… [--write] [--only=TEXT]")
const only = process.argv.find((argument) => argument.startsWith("--only="))?.slice("--only=".length) ?? ""

const settings = {
  WINDHOVER_DATABASE_URL: url,
  WINDHOVER_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
  WINDHOVER_UPSTREAM_HUBS: "false"
}

/** Further rows of long lists: accounts, tokens, attempts, hubs, pings and entries. Account 1 is the one that looks. */
const fillLists = [
  "insert into accounts (login, password_hash, created_at) select 'user' || n, '', now() from generate_series(1, 200000) n",
  `insert into tokens (account_id, hash, rights, name, created_at)
  select 1, sha256(convert_to(n::text, 'UTF8')), 4, 'program ' || n, now() from generate_series(1, 10000) n`,
  // 16 successes of 40,000 callbacks, and 64 failures of each failing one
  `insert into delivery_log (id, subscription_id, resource_id, notification_id, sequence, credits, account_id, host_key, latency, bytes, slot,
    attempt, result)
  select (extract(epoch from now())::int8 * 1000 - row_number() over (order by hashint8(u.id * 100 + n))) * 2097152, u.id, u.resource_id, n, n, 0,
    u.account_id, hashtext(u.host), 20, 900, case when u.failing_since is null then 1024 + n else n end, 1,
    case when u.failing_since is null then 204 when n % 8 = 0 then -503 else (array[503, 401, 404, 500, 6])[1 + n % 5] end
  from subscriptions u, generate_series(0, 63) n where u.failing_since is not null or u.id % 25 = 0 and n < 16`,
  `insert into subscription_ends (id, account_id, topic, endpoint, host, result, message)
  select (extract(epoch from now())::int8 * 1000 - n) * 2097152, 1 + n % 2, 'https://platform1.example/' || n, 'https://hooks1.example/' || n,
    'hooks1.example', 10, 'The callback did not confirm.' from generate_series(1, 100000) n`,
  `insert into hubs (hub, pushed_documents, missed_entries, consecutive_misses)
  select 'https://hub' || n || '.example/', n, n % 7, n % 5 from generate_series(1, 10000) n`,
  `insert into hub_subscriptions (resource_id, partition, hubs, hub, topic, state, failures, reliable, revision)
  select id, partition, '[]', 'https://hub' || case when id % 2 = 0 then 1 else id % 9000 end || '.example/', url, 2, 0, id % 3 = 0, 1
  from resources`,
  `insert into pings (account_id, topic, with_content, received_at, outcome, answered_at)
  select null, 'https://platform' || n % 5 || '.example/feed', false, now(), n % 2, now() from generate_series(1, 300000) n`,
  `insert into entries (resource_id, hash, published, first_seen, body)
  select 8, n, now() - n * interval '1 minute', now(), '{"id":"e' || n || '","title":{"value":"Entry ' || n || '","type":"text"}}'
  from generate_series(1, 20000) n`,
  "vacuum (analyze)"
]

const fill = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const [filled] = yield* sql<{ some: boolean }>`select exists(select from subscriptions) as some`
  if (filled?.some === true) return
  yield* fillDatabase
  yield* sql`set statement_timeout = 0`
  for (const statement of fillLists) yield* sql.unsafe(statement).unprepared
})

const searches = [
  "c4ca",
  "feed-123456",
  "faed-12345",
  "feed-1234567",
  "plattform3",
  "no-such-part-of-a-url",
  "feed.url:https://platform3.example/abc/feed",
  "feed.hostname:platform3.example",
  "feed.hostname:nobody.example",
  "feed.velocity:>700",
  "feed.velocity:>900",
  "feed.bozo:>0.9",
  "feed.porn:>=0.5",
  "feed.popularity:>9.9",
  "feed.failing:true",
  "feed.failing:false",
  "feed.code:404",
  "feed.code:>=500",
  "feed.code:418",
  "feed.code:304",
  "feed.code:304 feed.hostname:platform1.example feed.velocity:>300"
]

const searchesOfSubscriptions = [
  ...searches,
  "format:json",
  "format:atom",
  "label:none",
  "endpoint.jid:user100@jabber2.example",
  "endpoint.domain:jabber3.example",
  "endpoint.url:https://reader.example/push",
  "endpoint.inurl:hooks13.example",
  "endpoint.inurl:hoooks13",
  "endpoint.inurl:no-such-callback",
  "endpoint.hostname:hooks7.example",
  "endpoint.failing:true",
  "endpoint.failing:false",
  "deliveries.dropped:>0",
  "deliveries.dropped:0",
  "deliveries.dropped:>99"
]

const outcomes = ["delivered", "failed", "dropped", "bounced", "ended", "denied"]
const scopes = ["", "all=true"]

const joined = (...parts: ReadonlyArray<string>) => parts.filter((part) => part !== "").join("&")
const withSearch = (search: string) => `search=${encodeURIComponent(search)}`

const addresses: ReadonlyArray<string> = [
  "/dashboard",
  ...scopes.flatMap((scope) => [
    `/dashboard/resources?${scope}`,
    `/dashboard/resources?${joined(scope, "cursor=500000")}`,
    `/dashboard/resources?${joined(scope, "cursor=60")}`,
    ...searches.map((search) => `/dashboard/resources?${joined(scope, withSearch(search))}`),
    ...searches.map((search) => `/dashboard/resources?${joined(scope, withSearch(search), "cursor=2000")}`),
    `/dashboard/deliveries?${scope}`,
    ...outcomes.map((outcome) => `/dashboard/deliveries?${joined(scope, `outcome=${outcome}`)}`),
    ...outcomes.map((outcome) => `/dashboard/deliveries?${joined(scope, `outcome=${outcome}`, "host=hooks1.example")}`),
    `/dashboard/deliveries?${joined(scope, "host=hooks1.example")}`,
    `/dashboard/deliveries?${joined(scope, "subscription=101")}`,
    `/api/deliveries?${joined(scope, "topic=https://platform1.example/feed")}`,
    `/api/failing-hosts?${scope}`
  ]),
  "/dashboard/resources/8",
  "/dashboard/resources/1000000?all=true",
  "/api/entries?resource=8&limit=50",
  "/dashboard/subscriptions",
  "/dashboard/subscriptions?cursor=250000",
  "/dashboard/subscriptions?cursor=60",
  ...searchesOfSubscriptions.map((search) => `/dashboard/subscriptions?${withSearch(search)}`),
  ...searchesOfSubscriptions.map((search) => `/dashboard/subscriptions?${withSearch(search)}&cursor=2000`),
  "/dashboard/subscriptions/101",
  "/api/undelivered?limit=100",
  "/api/undelivered?limit=100&subscription=101",
  "/dashboard/tokens",
  "/dashboard/account",
  "/dashboard/accounts",
  "/dashboard/accounts?cursor=199990",
  "/dashboard/accounts?search=user77",
  "/dashboard/accounts?search=nobody",
  "/dashboard/hubs",
  "/ping?url=https://platform1.example/feed",
  "/?hub.mode=list",
  "/?hub.mode=list&page=1000",
  "/?hub.mode=list&detailed=true",
  "/?hub.mode=list&detailed=true&page=1000"
]

const first = await start(60, undefined, settings)

await first.stop()

await Effect.runPromise(Effect.provide(fill, Postgres.layer({ url: Redacted.make(url) })))

const service = await start(60, undefined, settings)
process.stdout.write(`ready after ${service.ready.toFixed(1)} s\n`)
const signedIn = await fetch(`${service.url}/dashboard/sign-in`, {
  method: "POST",
  redirect: "manual",
  body: new URLSearchParams({ login: "admin", secret: token })
})
const cookie = signedIn.headers.getSetCookie()[0]?.split(";")[0] ?? ""

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

const measured: Array<{ readonly address: string; readonly median: number; readonly worst: number }> = []
for (const address of addresses.filter((one) => one.includes(only))) {
  const walls: Array<number> = []
  for (let i = 0; i < repeats; i++) {
    const began = performance.now()
    const response = await fetch(`${service.url}${address}`, {
      headers: address.startsWith("/dashboard") ? { cookie } : { authorization, accept: "application/json" },
      redirect: "manual"
    })
    await response.arrayBuffer()
    if (response.status !== 200) process.stdout.write(`${response.status} ${address}\n`)
    walls.push(performance.now() - began)
  }
  const row = { address: decodeURIComponent(address), median: median(walls), worst: Math.max(...walls) }
  measured.push(row)
  process.stdout.write(`${row.median.toFixed(0).padStart(6)} ms, at most ${row.worst.toFixed(0)}: ${row.address}\n`)
}
await service.stop()

const groups: ReadonlyArray<readonly [name: string, addresses: RegExp]> = [
  ["resources of an account", /^\/dashboard\/resources\?(?!all=true)/],
  ["resources of all accounts", /^\/dashboard\/resources\?all=true/],
  ["subscriptions", /^\/dashboard\/subscriptions/],
  ["delivery log, undelivered notifications", /^\/(dashboard|api)\/(un)?deliver/],
  ["overview and failing hosts", /^\/dashboard$|^\/api\/failing/],
  ["one resource, entries, pings", /^\/dashboard\/resources\/|^\/api\/entries|^\/ping/],
  ["accounts, tokens, hubs", /\/(accounts|tokens|account|hubs)\b/],
  ["`hub.mode=list`", /^\/\?hub\.mode/]
]

if (process.argv.includes("--write")) {
  const path = join(import.meta.dirname, "../docs/performance.md")
  const rows = groups.map(([name, addresses]) => {
    const members = measured.filter(({ address }) => addresses.test(address))
    const slowest = members.toSorted((a, b) => b.median - a.median)[0]
    return `| ${name} | ${members.length} | ${median(members.map((one) => one.median)).toFixed(0)} | ${
      slowest?.median.toFixed(0)
    } | \`${slowest?.address}\` |`
  })
  writeFileSync(
    path,
    replaceSection(
      readFileSync(path, "utf8"),
      "Lists of the dashboard",
      [
        "`bin/node bench/lists.ts postgres://…` opens each list on PostgreSQL 15. The database has 1,000,000 resources, 200,000 accounts and 1.3 million logged attempts. One account has half of the 1,000,000 subscriptions, one has 10,000 tokens. The addresses are first, middle and last pages with each filter and search. The times are those of a client on the same machine, each the median of 5 requests. The target is 300 ms for each.",
        "",
        "| list | addresses | median ms | slowest ms | slowest address |",
        "| --- | --- | --- | --- | --- |",
        ...rows
      ].join("\n")
    )
  )
}
stopOrigin()
process.exit(0)
