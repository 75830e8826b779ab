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
import { fillDatabase } from "./FilledDatabase.ts"
import { replaceSection } from "./Section.ts"

const node = join(import.meta.dirname, "../bin/node")
const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

/** CPU seconds of a process per 1,000 responses of these paths in turn, after a warm-up with a quarter of them. */
const measureCpu = async (
  pid: number,
  origin: string,
  paths: ReadonlyArray<string>,
  count = 4_000
): Promise<number> => {
  const agent = new Agent({ connections: 16 })
  const headers = { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` }
  /** Several workers share one iterator. */
  const run = async (turns: Iterable<number>) => {
    for (const turn of turns) {
      const path = paths[turn % paths.length] ?? "/"
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
  const lists = Array.from({ length: 20 }, (_, i) => `/?hub.mode=list&by_page=${20 + i}`)
  const retrieves = Array.from(
    { length: 20 },
    (_, i) => `/?hub.mode=retrieve&format=json&hub.topic=${encodeURIComponent(`${outside}/same/${i}`)}`
  )
  for (
    const [name, paths] of [
      ["list, 20 of 20, the same of 16 clients", lists.slice(0, 1)],
      ["list, 20 of 20, different pages", lists],
      ["retrieve, 10 entries, JSON, the same of 16 clients", retrieves.slice(1, 2)],
      ["retrieve, 10 entries, JSON, different topics", retrieves]
    ] as const
  ) {
    const { length } = await (await fetch(`${service.url}${paths[0]}`, {
      headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` }
    })).text()
    const rounds: Array<readonly [api: number, bare: number]> = []
    for (let round = 0; round < 3; round++) {
      rounds.push([
        await measureCpu(service.pid, service.url, paths),
        await measureCpu(bare.pid ?? 0, floor, [`/?size=${length}`])
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
