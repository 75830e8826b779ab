/**
 * `bin/node bench/runners.ts URL [--write]`: cost of a poll and of a delivery with one, two and four runners on one PostgreSQL.
 *
 * The URL is that of a local PostgreSQL server; its role creates databases. CPU times are those of all runners and of all processes of the
 * server. The load fits the machine. One runner also gets a half and a quarter of it, because an operation costs more at a lower rate: fewer
 * of them share a statement.
 */
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "#scripts/FreePort.ts"
import { measureProcess } from "./ProcessUsage.ts"
import { replaceSection } from "./Section.ts"
import { fillServer, port, type Resources, type Service, start, stats, stopOrigin } from "./Service.ts"

const [server = ""] = process.argv.slice(2)

/** Warm-up and measured span, in ms. */
const [warmupMs, spanMs] = [15_000, 15_000]

const rounds = 3

const encryptionKey = randomBytes(32).toString("base64")

const runSql = (url: string, statement: string): string =>
  execFileSync("psql", ["-XqAt", "-c", statement, url], { encoding: "utf8" }).trim()

const urlOf = (database: string): string => Object.assign(new URL(server), { pathname: `/${database}` }).href

/** Process id of a process's parent. */
const parentOf = (pid: string): string =>
  readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")[1] ?? ""

/** The process of a query has ended when its answer is read; the checkpointer goes on. */
const postmaster = parentOf(
  runSql(urlOf("postgres"), "select pid from pg_stat_activity where backend_type = 'checkpointer'")
)

/** CPU seconds of the server's processes: the running ones, and the ended ones by their parent. */
const measureServer = (): number => {
  const ended = readFileSync(`/proc/${postmaster}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
  let cpu = measureProcess(Number(postmaster)).cpu + (Number(ended[13]) + Number(ended[14])) / 100
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (parentOf(pid) === postmaster) cpu += measureProcess(Number(pid)).cpu
    } catch {
      continue // the process has ended meanwhile
    }
  }
  return cpu
}

const host = "'127.0.0.' || 1 + i % 64"

/** Each feed is polled once per second. */
const loads: Readonly<Record<"poll" | "delivery", Resources>> = {
  poll: {
    count: 400,
    host,
    url: `'http://' || ${host} || ':${port}/304/' || i`,
    due: "random() * interval '1 second'",
    velocity: 86_400
  },
  delivery: {
    count: 60,
    host,
    url: `'http://' || ${host} || ':${port}/new/' || i`,
    due: "random() * interval '1 second'",
    velocity: 86_400,
    webhook: `'http://' || ${host} || ':${port}/hook/' || i`
  }
}

interface Run {
  readonly runnerCount: number
  /** The load is divided by this number. */
  readonly divisor: number
}

const runs: ReadonlyArray<Run> = [
  { runnerCount: 1, divisor: 1 },
  { runnerCount: 1, divisor: 2 },
  { runnerCount: 1, divisor: 4 },
  { runnerCount: 2, divisor: 1 },
  { runnerCount: 4, divisor: 1 }
]

/** CPU milliseconds of the runners and of the server for each operation. */
const measure = async (load: keyof typeof loads, { divisor, runnerCount }: Run) => {
  const database = `bench_${process.pid}_${load}`
  runSql(urlOf("postgres"), `drop database if exists ${database}`)
  runSql(urlOf("postgres"), `create database ${database}`)
  await fillServer(urlOf(database), { ...loads[load], count: loads[load].count / divisor })
  const runners: Array<Service> = []
  for (let i = 0; i < runnerCount; i++) {
    runners.push(
      await start(1, undefined, {
        WINDHOVER_DATABASE_URL: urlOf(database),
        WINDHOVER_ENCRYPTION_KEY: encryptionKey,
        WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${await freePort()}`
      })
    )
  }
  await sleep(warmupMs)
  const read = async () => ({
    ...await stats(),
    runners: runners.reduce((sum, { pid }) => sum + measureProcess(pid).cpu, 0),
    server: measureServer()
  })
  const before = await read()
  await sleep(spanMs)
  const after = await read()
  for (const runner of runners) await runner.stop()
  runSql(urlOf("postgres"), `drop database ${database}`)
  const operations = load === "poll" ? after.polls - before.polls : after.posts - before.posts
  return {
    rate: operations / spanMs * 1_000,
    runners: (after.runners - before.runners) / operations * 1_000,
    server: (after.server - before.server) / operations * 1_000
  }
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const lines = [
  "| load | runners | a second | CPU ms each: runners | PostgreSQL | of one runner | of one runner with the load of each |",
  "| --- | --- | --- | --- | --- | --- | --- |"
]
const names = { poll: "unchanged polls", delivery: "polls with a new entry and its delivery" }
for (const load of ["poll", "delivery"] as const) {
  const results = runs.map((run) => ({ run, found: new Array<Awaited<ReturnType<typeof measure>>>() }))
  for (let round = 0; round < rounds; round++) {
    for (const { found, run } of results) found.push(await measure(load, run))
  }
  const costOf = (given: Run): number => {
    const result = results.find(({ run }) => run.runnerCount === given.runnerCount && run.divisor === given.divisor)
    return median(result?.found.map(({ runners, server }) => runners + server) ?? [])
  }
  for (const { found, run } of results) {
    const figure = (key: "rate" | "runners" | "server", digits: number) =>
      median(found.map((one) => one[key])).toFixed(digits)
    const ratio = (divisor: number) => (costOf(run) / costOf({ runnerCount: 1, divisor })).toFixed(2)
    lines.push(
      `| ${names[load]} | ${run.runnerCount} | ${figure("rate", 0)} | ${figure("runners", 3)} | ${
        figure("server", 3)
      } | ${ratio(1)} | ${ratio(run.divisor * run.runnerCount)} |`
    )
    console.log(lines.at(-1))
  }
}
stopOrigin()
if (process.argv.includes("--write")) {
  const file = join(import.meta.dirname, "../docs/performance.md")
  const body = [`\`bin/node bench/runners.ts\`, Node ${process.version}; medians of ${rounds}.`, "", ...lines].join(
    "\n"
  )
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "Several runners on one PostgreSQL", body))
}
