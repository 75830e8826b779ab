/**
 * `npm run bench`: what the main job costs, as ratios to undici alone on the same machine in the same run.
 *
 * CPU is that of the whole process (Node, its threads, the embedded database in one of them), from /proc. Writes its table into
 * docs/performance.md. `-- --million` adds the start with a million resources.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import * as EmbeddedPostgres from "#layers/EmbeddedPostgres.ts"
import { migrate } from "#layers/Migrations.ts"
import { withSettings } from "#scripts/Environment.ts"
import { section } from "./Section.ts"

const root = join(import.meta.dirname, "..")
const node = join(root, "bin/node")
const token = "bench-token-0123456789"
const run = promisify(execFile)
const rows: Array<readonly [what: string, figure: string, target: string]> = []

const say = (what: string, figure: string, target: string): void => {
  rows.push([what, figure, target])
  process.stdout.write(`${what.padEnd(64)} ${figure.padEnd(34)} ${target}\n`)
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const firstLine = async (child: ChildProcess, pattern: RegExp): Promise<string> => {
  if (child.stdout === null) throw new Error("no output")
  for await (const line of createInterface({ input: child.stdout })) {
    const match = pattern.exec(line)
    if (match !== null) return match[1] ?? ""
  }
  throw new Error("a process of the benchmark ended early")
}

/** CPU seconds of a process, and its memory in MB. */
const used = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, rss: rss / 1024 }
}

const origin = spawn(node, [join(root, "bench/origin.ts")], { stdio: ["ignore", "pipe", "inherit", "ipc"] })
const port = await firstLine(origin, /(\d+)/)
const outside = `http://127.0.0.1:${port}`
const stats = async () =>
  await (await fetch(`${outside}/ctl/stats`)).json() as { polls: number; posts: number; last: number; now: number }

const bare = async (path: string, count: number, ...more: ReadonlyArray<string>) =>
  JSON.parse(
    (await run(node, [
      "--max-semi-space-size=32",
      join(root, "bench/bare.ts"),
      `${outside}${path}`,
      String(count),
      ...more
    ])).stdout
  ) as {
    cpu: number
    wall: number
  }

interface Service {
  readonly url: string
  readonly pid: number
  readonly ready: number
  readonly call: (parameters: Record<string, string>) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts the service; resources are polled as often as once in `minPeriod` seconds. */
const start = async (
  minPeriod: number,
  directory = mkdtempSync(join(tmpdir(), "windhover-bench-"))
): Promise<Service> => {
  const began = performance.now()
  const child = spawn(join(root, "bin/windhover"), ["serve"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: withSettings({
      WINDHOVER_PORT: "0",
      WINDHOVER_HOST: "127.0.0.1",
      WINDHOVER_DATA_DIR: directory,
      WINDHOVER_ALLOW_PRIVATE: "true",
      WINDHOVER_MIN_PERIOD: String(minPeriod),
      WINDHOVER_REQUESTS_PER_MINUTE: "1000000",
      WINDHOVER_ADMIN_TOKEN: token,
      WINDHOVER_LOG_LEVEL: "error"
    })
  })
  const url = (await firstLine(child, /ready on (http:\S+)/)).replace("localhost", "127.0.0.1")
  while ((await fetch(`${url}/readyz`)).status !== 200) await sleep(50)
  const ready = (performance.now() - began) / 1000
  const authorization = `Basic ${Buffer.from(`admin:${token}`).toString("base64")}`
  return {
    url,
    pid: child.pid ?? 0,
    ready,
    call: async (parameters) => {
      const answer = await fetch(url, {
        method: "POST",
        headers: { authorization },
        body: new URLSearchParams(parameters)
      })
      if (!answer.ok) throw new Error(await answer.text())
    },
    stop: async () => {
      child.kill("SIGTERM")
      await once(child, "exit")
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

const subscribe = async (service: Service, topics: ReadonlyArray<string>, callback: (i: number) => string) => {
  const waiting = [...topics.entries()]
  const worker = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      await service.call({ "hub.mode": "subscribe", "hub.topic": next[1], "hub.callback": callback(next[0]) })
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}

/** CPU seconds for 1,000 polls of one kind, each feed once a second, over three spans of 6 s; polls a second: the medians. */
const polls = async (kind: "304" | "200" | "new", feeds: number) => {
  const host = "'127.0.0.' || 1 + i % 64"
  const service = await startWith(1, {
    count: feeds,
    host,
    url: `'http://' || ${host} || ':${port}/${kind}/' || i`,
    due: "random() * interval '1 second'",
    velocity: 86_400
  })
  await sleep(6_000)
  const cpu: Array<number> = []
  const rates: Array<number> = []
  for (let span = 0; span < 3; span++) {
    const before = { ...used(service.pid), ...await stats() }
    await sleep(6_000)
    const after = { ...used(service.pid), ...await stats() }
    cpu.push((after.cpu - before.cpu) / (after.polls - before.polls) * 1000)
    rates.push((after.polls - before.polls) / 6)
  }
  await service.stop()
  return { cpu: median(cpu), rate: median(rates) }
}

/** Polls beside undici alone: three runs of it before and three after, since the machine's speed drifts within minutes. */
const against = async (
  what: string,
  kind: "304" | "200" | "new",
  feeds: number,
  target: string
) => {
  const before = await floors(kind)
  const { cpu, rate } = await polls(kind, feeds)
  const bare = median([...before, ...await floors(kind)])
  say(
    `${what}, ${feeds} feeds: CPU s per 1,000`,
    `${cpu.toFixed(3)} at ${rate.toFixed(0)}/s; undici ${bare.toFixed(3)}: ${(bare / cpu).toFixed(2)} of it per core`,
    target
  )
}

/** CPU seconds per 1,000 bare requests, three times. */
const floors = async (kind: "304" | "200" | "new") => {
  const count = kind === "304" ? 8_000 : 4_000
  const figures: Array<number> = []
  for (let i = 0; i < 3; i++) {
    // a document that changes is made anew at each request, which is the origin's work: its floor is the one that stays
    const { cpu } = kind === "304" ? await bare("/304/0", count, "GET", "\"25\"") : await bare("/200/0", count)
    figures.push(cpu / count * 1000)
  }
  return figures
}

const polling = async () => {
  // what waking up costs is shared by more polls when there are more: a core that is half idle, and one that is busy
  await against("unchanged polls (304)", "304", 1_500, "≤ 0.11, ≥ 0.4 of undici")
  await against("unchanged polls (304)", "304", 3_500, "≤ 0.11, ≥ 0.4 of undici")
  await against("unchanged polls (200, same bytes)", "200", 800, "≤ 0.25")
  await against("polls with one new entry of 25", "new", 300, "≤ 1.0")
}

const delivering = async () => {
  const fan = 3_000
  const service = await start(3600)
  await subscribe(service, Array.from({ length: fan }, () => `${outside}/304/0`), (i) => `${outside}/hook/${i}`)
  await sleep(2_000)
  const ratios: Array<number> = []
  const rates: Array<number> = []
  for (let round = 0; round < 3; round++) {
    const bareRate = fan / (await bare("/hook", fan, "POST")).wall
    const before = await stats()
    await fetch(`${outside}/ctl/publish`)
    await service.call({ "hub.mode": "publish", "hub.url": `${outside}/304/0` })
    while ((await stats()).posts < before.posts + fan) await sleep(20)
    const rate = fan / (((await stats()).last - before.now) / 1e6)
    rates.push(rate)
    ratios.push(rate / bareRate)
  }
  say(
    `deliveries/s, one entry to ${fan} webhooks, durable outbox`,
    `${median(rates).toFixed(0)} (${median(ratios).toFixed(2)} of bare POSTs)`,
    "≥ 0.4"
  )
  await service.stop()
}

const latency = async () => {
  const pings = 100
  const service = await start(3600) // no poll but those that are asked for
  const topics = Array.from({ length: 10 }, (_, i) => `${outside}/304/${i}`)
  await subscribe(service, topics, () => `${outside}/hook`)
  await sleep(1_500)
  const waits: Array<number> = []
  for (let i = 0; i < pings; i++) {
    await sleep(110) // pings of one resource are answered once a second
    await fetch(`${outside}/ctl/publish`)
    const before = await stats()
    await service.call({ "hub.mode": "publish", "hub.url": topics[i % topics.length] ?? "" })
    let after = await stats()
    for (; after.posts === before.posts; after = await stats()) await sleep(1)
    waits.push((after.last - before.now) / 1000)
  }
  waits.sort((a, b) => a - b)
  say(
    `publish ping → callback, ${pings} times`,
    `p50 ${waits[pings / 2]?.toFixed(1)} ms, p99 ${waits[Math.ceil(pings * 0.99) - 1]?.toFixed(1)} ms`,
    ""
  )
  await service.stop()
}

/** Resources to begin with; `url` and `host` are SQL over `i`, 1 up to `count`. */
interface Resources {
  readonly count: number
  readonly host: string
  readonly url: string
  /** Until the first poll, an SQL interval. */
  readonly due: string
  /** Entries a day; decides how far silence stretches the period. */
  readonly velocity: number
}

/** A database with these resources, each with one subscription of the null device. */
const fill = (directory: string, { count, due, host, url, velocity }: Resources) =>
  Effect.runPromise(
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrate
      yield* sql.unsafe(`insert into accounts (login, password_hash, created_at) values ('bench', '', now())`)
      for (let from = 0; from < count; from += 50_000) {
        const until = Math.min(from + 50_000, count)
        yield* sql.unsafe(`insert into resources (key, url, host, partition, kind, velocity, created_at)
          select substring(sha256(convert_to(${url}, 'UTF8')) for 16), ${url}, ${host}, i % 256, 1, ${velocity}, now()
          from generate_series(${from + 1}, ${until}) i`)
      }
      yield* sql.unsafe(`insert into schedule (resource_id, next_fetch, last_fetch, period, http_code)
        select id, now() + ${due}, now(), 1, 304 from resources`)
      yield* sql.unsafe(`insert into resource_state (resource_id) select id from resources`)
      yield* sql.unsafe(
        `insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
        select 1, id, url, 2, 'http://127.0.0.1:9/dev/null', '127.0.0.1', 0, 1, now() from resources`
      )
      yield* sql.unsafe(`analyze`)
    }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory })), Effect.orDie)
  )

/** A service that starts with these resources. */
const startWith = async (minPeriod: number, resources: Resources): Promise<Service> => {
  const directory = mkdtempSync(join(tmpdir(), "windhover-bench-"))
  await fill(directory, resources)
  return await start(minPeriod, directory)
}

const sleeping = (count: number): Resources => ({
  count,
  host: "'h' || i || '.example'",
  url: "'http://h' || i || '.example/f'",
  due: "interval '1 hour' + random() * interval '6 hours'",
  velocity: 1
})

const memory = async (count: number, target: string) => {
  const settled = async (resources: number) => {
    const service = await startWith(60, sleeping(resources))
    await sleep(5_000)
    const { rss } = used(service.pid)
    await service.stop()
    return { rss, ready: service.ready }
  }
  const base = await settled(0)
  const full = await settled(count)
  say(
    `${count.toLocaleString("en")} resources: memory, start until scheduled`,
    `${full.rss.toFixed(0)} MB (without any ${base.rss.toFixed(0)} MB), ${full.ready.toFixed(1)} s`,
    target
  )
}

const write = () => {
  const file = join(root, "docs/performance.md")
  const body = [
    `\`npm run bench\`, Node ${process.version}, embedded database, origin and sink beside it on the same machine; medians of three. Shared, noisy cores: the ratios count.`,
    "",
    "| what | measured | target |",
    "| --- | --- | --- |",
    ...rows.map((row) => `| ${row.join(" | ")} |`)
  ].join("\n")
  writeFileSync(file, section(readFileSync(file, "utf8"), "The main job", body))
}

await polling()
await delivering()
await latency()
await memory(100_000, "")
if (process.argv.includes("--million")) await memory(1_000_000, "≤ 1,500 MB, ≤ 20 s")
write()
origin.disconnect()
