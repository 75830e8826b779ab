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
const outside = `http://127.0.0.1:${await firstLine(origin, /(\d+)/)}`
const stats = async () =>
  await (await fetch(`${outside}/ctl/stats`)).json() as { polls: number; posts: number; last: number; now: number }

const bare = async (path: string, count: number, ...more: ReadonlyArray<string>) =>
  JSON.parse((await run(node, [join(root, "bench/bare.ts"), `${outside}${path}`, String(count), ...more])).stdout) as {
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

const start = async (directory = mkdtempSync(join(tmpdir(), "windhover-bench-"))): Promise<Service> => {
  const began = performance.now()
  const child = spawn(join(root, "bin/windhover"), ["serve"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      WINDHOVER_PORT: "0",
      WINDHOVER_HOST: "127.0.0.1",
      WINDHOVER_DATA_DIR: directory,
      WINDHOVER_ALLOW_PRIVATE: "true",
      WINDHOVER_MIN_PERIOD: "1",
      WINDHOVER_REQUESTS_PER_MINUTE: "1000000",
      WINDHOVER_ADMIN_TOKEN: token,
      WINDHOVER_LOG_LEVEL: "error"
    }
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

/** CPU seconds for 1,000 polls of one kind, steady, over three spans of 6 s: the median. */
const polls = async (kind: "304" | "200" | "new", feeds: number): Promise<number> => {
  const service = await start()
  await subscribe(
    service,
    Array.from({ length: feeds }, (_, i) => `${outside}/${kind}/${i}`),
    () => "http://127.0.0.1:9/dev/null"
  )
  await sleep(6_000)
  const figures: Array<number> = []
  for (let span = 0; span < 3; span++) {
    const before = { ...used(service.pid), ...await stats() }
    await sleep(6_000)
    const after = { ...used(service.pid), ...await stats() }
    figures.push((after.cpu - before.cpu) / (after.polls - before.polls) * 1000)
  }
  await service.stop()
  return median(figures)
}

const polling = async () => {
  const bare304 = median(await rounds(() => bare("/304/0", 4_000, "GET", "\"25\"")))
  const bare200 = median(await rounds(() => bare("/200/0", 2_000), 2_000))
  const figures = [["304", await polls("304", 1_500), bare304, "≤ 0.11"], [
    "200",
    await polls("200", 1_500),
    bare200,
    "≤ 0.25"
  ]] as const
  say("undici alone, 304: CPU s per 1,000", bare304.toFixed(3), "")
  say("undici alone, 200 with 42 kB: CPU s per 1,000", bare200.toFixed(3), "")
  for (const [kind, cpu, floor, target] of figures) {
    say(
      `unchanged polls (${kind}): CPU s per 1,000`,
      `${cpu.toFixed(3)} (${(floor / cpu).toFixed(2)} of undici per core)`,
      target
    )
  }
  say("polls with one new entry of 25: CPU s per 1,000", (await polls("new", 300)).toFixed(3), "≤ 1.0")
}

/** CPU seconds per 1,000 of three runs. */
const rounds = async (once: () => Promise<{ cpu: number }>, count = 4_000) => {
  const figures: Array<number> = []
  for (let i = 0; i < 3; i++) figures.push((await once()).cpu)
  return figures.map((cpu) => cpu / count * 1000)
}

const delivering = async () => {
  const fan = 3_000
  const service = await start()
  await subscribe(service, Array.from({ length: fan }, () => `${outside}/304/0`), (i) => `${outside}/hook/${i}`)
  await sleep(2_000)
  const ratios: Array<number> = []
  const rates: Array<number> = []
  for (let round = 0; round < 3; round++) {
    const floor = fan / (await bare("/hook", fan, "POST")).wall
    const before = await stats()
    await fetch(`${outside}/ctl/publish`)
    await service.call({ "hub.mode": "publish", "hub.url": `${outside}/304/0` })
    while ((await stats()).posts < before.posts + fan) await sleep(20)
    const rate = fan / (((await stats()).last - before.now) / 1e6)
    rates.push(rate)
    ratios.push(rate / floor)
  }
  say(
    `deliveries/s, one entry to ${fan} webhooks, durable outbox`,
    `${median(rates).toFixed(0)} (${median(ratios).toFixed(2)} of bare POSTs)`,
    "≥ 0.4"
  )
  await service.stop()
}

const latency = async () => {
  const service = await start()
  await subscribe(service, [`${outside}/304/0`], () => `${outside}/hook`)
  await sleep(1_500)
  const waits: Array<number> = []
  for (let i = 0; i < 30; i++) {
    await sleep(1_050) // pings of one resource are answered once a second
    const before = await stats()
    await fetch(`${outside}/ctl/publish`)
    await service.call({ "hub.mode": "publish", "hub.url": `${outside}/304/0` })
    let after = await stats()
    for (; after.posts === before.posts; after = await stats()) await sleep(1)
    waits.push((after.last - before.now) / 1000)
  }
  waits.sort((a, b) => a - b)
  say("publish ping → callback", `p50 ${waits[15]?.toFixed(0)} ms, worst of 30 ${waits.at(-1)?.toFixed(0)} ms`, "")
  await service.stop()
}

/** A database with so many resources, each with a subscription, due within the next hours. */
const fill = (directory: string, count: number) =>
  Effect.runPromise(
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrate
      yield* sql.unsafe(`insert into accounts (login, password_hash, created_at) values ('bench', '', now())`)
      for (let from = 0; from < count; from += 50_000) {
        const until = Math.min(from + 50_000, count)
        yield* sql.unsafe(`insert into resources (key, url, host, partition, kind, created_at)
          select substring(sha256(convert_to('http://h' || i || '.example/f', 'UTF8')) for 16), 'http://h' || i || '.example/f', 'h' || i || '.example', i % 256, 1, now()
          from generate_series(${from + 1}, ${until}) i`)
      }
      yield* sql.unsafe(`insert into schedule (resource_id, next_fetch, last_fetch, period, http_code)
        select id, now() + interval '1 hour' + random() * interval '6 hours', now(), 900, 304 from resources`)
      yield* sql.unsafe(`insert into resource_state (resource_id) select id from resources`)
      yield* sql.unsafe(
        `insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
        select 1, id, url, 2, 'http://127.0.0.1:9/dev/null', '127.0.0.1', 0, 1, now() from resources`
      )
      yield* sql.unsafe(`analyze`)
    }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory })), Effect.orDie)
  )

const memory = async (count: number, target: string) => {
  const empty = await start()
  await sleep(2_000)
  const base = used(empty.pid).rss
  await empty.stop()
  const directory = mkdtempSync(join(tmpdir(), "windhover-bench-"))
  await fill(directory, count)
  const service = await start(directory)
  await sleep(3_000)
  const { rss } = used(service.pid)
  say(
    `${count.toLocaleString("en")} resources: memory, start until scheduled`,
    `${rss.toFixed(0)} MB (${((rss - base) * 1e6 / count).toFixed(0)} B each over ${base.toFixed(0)} MB), ${
      service.ready.toFixed(1)
    } s`,
    target
  )
  await service.stop()
}

const write = () => {
  const file = join(root, "docs/performance.md")
  const table = [
    "<!-- bench: main -->",
    "## The main job",
    "",
    `\`npm run bench\`, Node ${process.version}, embedded database, origin and sink beside it on the same machine; medians of three. Shared, noisy cores: the ratios count.`,
    "",
    "| what | measured | target |",
    "| --- | --- | --- |",
    ...rows.map((row) => `| ${row.join(" | ")} |`),
    "<!-- /bench: main -->"
  ].join("\n")
  let text = "# Performance\n"
  try {
    text = readFileSync(file, "utf8")
  } catch {
    // the first run makes the file
  }
  const old = /<!-- bench: main -->[^]*<!-- \/bench: main -->/
  writeFileSync(file, old.test(text) ? text.replace(old, () => table) : `${text.trimEnd()}\n\n${table}\n`)
}

await polling()
await delivering()
await latency()
await memory(100_000, "")
if (process.argv.includes("--million")) await memory(1_000_000, "≤ 1,500 MB, ≤ 20 s")
write()
origin.disconnect()
