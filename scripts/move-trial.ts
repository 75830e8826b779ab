// Moves a large embedded database to a PostgreSQL server and back while publishers publish, and counts what receivers get.
//   bin/node scripts/move-trial.ts --megabytes 1000 --feeds 20 --url postgres://user@host/postgres
// The server needs a user who may create databases. Prints the figures as JSON; exits with 1 when a notification is lost or a sequence has a gap.
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import * as Source from "#layers/backup/Source.ts"
import { withSettings } from "./Environment.ts"
import { freePort } from "./FreePort.ts"
import { exitWithError, parseOptions } from "./Options.ts"
import { startService } from "./ServiceProcess.ts"
import { Feed } from "./soak/Feed.ts"
import { audit, isFlawless } from "./soak/Audit.ts"
import { openOrigin } from "./soak/Origin.ts"
import { openReceivers } from "./soak/Receivers.ts"

const usage = "usage: bin/node scripts/move-trial.ts --url postgres://… [--megabytes 500] [--feeds 20]"
const options = parseOptions(usage, {
  url: { type: "string" },
  megabytes: { type: "string", default: "500" },
  feeds: { type: "string", default: "20" }
})
const adminUrl = options.url ?? exitWithError(usage)
const directory = mkdtempSync(join(tmpdir(), "windhover-move-"))
const dataDir = join(directory, "data")
const back = join(directory, "back")
const token = "token-of-the-move-trial"
const port = await freePort()
const program = join(import.meta.dirname, "../bin/windhover")
const settings = { WINDHOVER_MIN_PERIOD: "20", WINDHOVER_MAX_PERIOD: "40" }

const calm = () => 1 // no faults
const feeds = Array.from({ length: Number(options.feeds) }, (_, number) => new Feed(number))
const origin = await openOrigin(feeds, calm, 0)
const receivers = await openReceivers(calm, 0)

const call = (parameters: Record<string, string>) =>
  fetch(`http://127.0.0.1:${port}`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` },
    body: new URLSearchParams(parameters)
  }).then((response) => response.text())

const start = (dataDir: string, more: Record<string, string> = {}) =>
  startService({ port, dataDir, token, logFile: join(directory, "log"), settings: { ...settings, ...more } })

const stop = async (service: ChildProcess) => {
  service.kill("SIGTERM")
  await once(service, "exit")
}

const run = (words: ReadonlyArray<string>, more: Record<string, string>) =>
  promisify(execFile)(program, words, { env: withSettings(more), maxBuffer: 1 << 24 })

/** Rows of 1.2 kB, which no resource has: they take room and time, and nothing else. */
const fillUp = SqlClient.SqlClient.use((sql) =>
  Effect.forEach(
    Array.from({ length: Math.ceil(Number(options.megabytes) / 15) }, (_, index) => index),
    (index) =>
      sql`insert into entries (resource_id, hash, published, first_seen, body)
        select ${BigInt(1_000_000 + index)}, n, now(), now(), '{"id":"' || n || '","text":"' || (
          select string_agg(md5(n::text || i::text), '') from generate_series(1, 36) i) || '"}'
        from generate_series(1, 10000) n`,
    { discard: true }
  )
)

const publishers = new AbortController()
const publish = async () => {
  while (!publishers.signal.aborted) {
    for (const feed of feeds) {
      feed.publish()
      await call({ "hub.mode": "publish", "hub.url": origin.urlOf(feed) }).catch(() => undefined)
    }
    await sleep(2_500) // a feed shows its last 30 entries: more must not come while the service stands still
  }
}

/** Times a cheap call each 20 ms until `until` resolves. Returns the longest of them and their median, in ms. */
const timeCalls = async (until: Promise<unknown>) => {
  const end = new AbortController()
  const done = until.finally(() => end.abort())
  const times: Array<number> = []
  while (!end.signal.aborted) {
    const began = performance.now()
    await call({ "hub.mode": "retrieve", "hub.topic": origin.urlOf(feeds[0]!), count: "1" }).catch(() => undefined)
    times.push(performance.now() - began)
    await sleep(20)
  }
  await done
  const sorted = times.toSorted((a, b) => a - b)
  return { medianMs: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0), longestMs: Math.round(sorted.at(-1) ?? 0) }
}

const figures: Record<string, unknown> = {}

const timed = async (name: string, work: Promise<unknown>) => {
  const began = performance.now()
  const calls = await timeCalls(work)
  figures[name] = { seconds: Math.round((performance.now() - began) / 100) / 10, ...calls }
}

await start(dataDir).then(stop)
await Effect.runPromise(Effect.scoped(Effect.provide(fillUp, Source.layerStopped(dataDir))))
const [{ rows = 0, bytes = 0 } = {}] = await Effect.runPromise(Effect.scoped(Effect.provide(
  SqlClient.SqlClient.use((sql) =>
    sql<
      { rows: number; bytes: number }
    >`select count(*)::float8 as rows, pg_database_size(current_database())::float8 as bytes from entries`
  ),
  Source.layerStopped(dataDir)
)))
figures["database"] = { rows, megabytes: Math.round(bytes / 1e6) }
const database = `windhover_trial_${process.pid}`
const administer = (statement: string) =>
  Effect.runPromise(Effect.scoped(Effect.provide(
    SqlClient.SqlClient.use((sql) => sql.unsafe(statement).unprepared),
    Source.layerServer(Redacted.make(adminUrl))
  )))
await administer(`create database ${database}`)
const url = Object.assign(new URL(adminUrl), { pathname: `/${database}` }).href

let service = await start(dataDir)
for (const feed of feeds) {
  await call({
    "hub.mode": "subscribe",
    "hub.topic": origin.urlOf(feed),
    "hub.callback": receivers.urlOf(feed, 0),
    format: "json"
  })
}
await sleep(10_000) // the first fetches tell nothing
const published = publish()
await timed("undisturbed", sleep(10_000))
await timed("backup", run(["backup", join(directory, "backup")], { WINDHOVER_DATA_DIR: dataDir }))

/** Kills a move when it has said the text, and takes it back. Returns the last line of the cancellation. */
const killMove = async (text: string, delayMs: number) => {
  const child = spawn(program, ["move", "--to", url], {
    env: withSettings({ WINDHOVER_DATA_DIR: dataDir }),
    stdio: ["ignore", "ignore", "pipe"]
  })
  let said = ""
  await new Promise<void>((resolve) => {
    child.once("exit", () => resolve())
    child.stderr.setEncoding("utf8").on("data", (words: string) => {
      said += words
      if (said.includes(text)) resolve()
    })
  })
  await sleep(delayMs)
  child.kill("SIGKILL")
  await sleep(5_000) // a service that was told to stop has stopped
  const { stderr } = await run(["move", "--cancel", "--to", url], { WINDHOVER_DATA_DIR: dataDir })
  return stderr.trim().split("\n")
}

figures["killed while it copied"] = await killMove("Copying", 4_000)
const stopped = once(service, "exit").then(() => true)
figures["killed at the stop"] = await killMove("The service is stopping", 500)
if (await Promise.race([stopped, sleep(30_000, false)])) service = await start(dataDir)
await sleep(5_000)

const exited = once(service, "exit").then(() => performance.now())
let began = performance.now()
const there = await run(["move", "--to", url], { WINDHOVER_DATA_DIR: dataDir })
let stoppedAt = await exited
service = await start(dataDir, { WINDHOVER_DATABASE_URL: url })
figures["to the server"] = {
  said: there.stderr.trim().split("\n").at(-1),
  seconds: Math.round((performance.now() - began) / 100) / 10,
  fromExitToReadySeconds: Math.round((performance.now() - stoppedAt) / 100) / 10
}
await sleep(10_000)

began = performance.now()
const moving = spawn(program, ["move", "--to", back], {
  env: withSettings({ WINDHOVER_DATABASE_URL: url, WINDHOVER_DATA_DIR: dataDir }),
  stdio: ["ignore", "ignore", "pipe"]
})
let said = ""
const asked = new Promise<void>((resolve) => {
  moving.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text
    if (said.includes("Stop all runners")) resolve()
  })
})
const moved = once(moving, "exit")
await Promise.race([asked, moved])
stoppedAt = performance.now()
await stop(service)
await moved
service = await start(back)
figures["to the directory"] = {
  said: said.trim().split("\n").at(-1),
  seconds: Math.round((performance.now() - began) / 100) / 10,
  fromStopToReadySeconds: Math.round((performance.now() - stoppedAt) / 100) / 10
}
await sleep(10_000)
publishers.abort()
await published
const check = () => audit(feeds, 1, receivers.accepted, [], 1)
for (let waits = 0; check().lost > 0 && waits < 120; waits++) await sleep(1_000)
const result = check()
console.log(JSON.stringify({ ...figures, result }, undefined, 2))
await stop(service)
await administer(`drop database ${database} with (force)`)
origin.close()
receivers.close()
rmSync(directory, { recursive: true })
process.exitCode = isFlawless(result) ? 0 : 1
