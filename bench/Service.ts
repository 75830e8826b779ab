/**
 * Parts of the main benchmarks: the outside world (`origin.ts`), undici alone (`bare.ts`), and a service with its resources.
 *
 * CPU times come from /proc and cover the whole process: Node, its threads, and the embedded database.
 */
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { rightsToBits, tokenRights } from "#domain/Account.ts"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { withSettings } from "#scripts/Environment.ts"

const root = join(import.meta.dirname, "..")
export const node = join(root, "bin/node")
export const token = "bench-token-0123456789"
export const authorization = `Basic ${Buffer.from(`admin:${token}`).toString("base64")}`
const run = promisify(execFile)

export const firstLine = async (child: ChildProcess, pattern: RegExp): Promise<string> => {
  if (child.stdout === null) throw new Error("no output")
  for await (const line of createInterface({ input: child.stdout })) {
    const match = pattern.exec(line)
    if (match !== null) return match[1] ?? ""
  }
  throw new Error("a process of the benchmark ended early")
}

const origin = spawn(node, [join(root, "bench/origin.ts")], { stdio: ["ignore", "pipe", "inherit", "ipc"] })
export const port = await firstLine(origin, /(\d+)/)
export const outside = `http://127.0.0.1:${port}`
export const stats = async () =>
  await (await fetch(`${outside}/ctl/stats`)).json() as { polls: number; posts: number; last: number; now: number }

/** Both programs run with the same memory flags of V8. */
const asTheService = [
  "--max-semi-space-size=32",
  "--no-allocation-site-pretenuring",
  "--concurrent-marking-max-worker-num=1"
]

export const bare = async (path: string, count: number, ...more: ReadonlyArray<string>) =>
  JSON.parse(
    (await run(node, [
      ...asTheService,
      join(root, "bench/bare.ts"),
      `${outside}${path}`,
      String(count),
      ...more
    ])).stdout
  ) as {
    cpu: number
    wall: number
  }

export interface Service {
  readonly url: string
  readonly pid: number
  readonly ready: number
  readonly call: (parameters: Record<string, string>) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts the service. Each resource is polled at most once per `minPeriod` seconds. */
export const start = async (
  minPeriod: number,
  directory = mkdtempSync(join(tmpdir(), "windhover-bench-")),
  more: Readonly<Record<string, string>> = {}
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
      WINDHOVER_MAX_STREAMS_PER_ACCOUNT: "20000",
      WINDHOVER_ADMIN_TOKEN: token,
      WINDHOVER_LOG_LEVEL: "error",
      ...more
    })
  })
  const url = (await firstLine(child, /ready on (http:\S+)/)).replace("localhost", "127.0.0.1")
  while ((await fetch(`${url}/readyz`)).status !== 200) await sleep(50)
  const ready = (performance.now() - began) / 1000
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

/** Initial resources. `url` and `host` are SQL expressions over `i`, from 1 to `count`. */
export interface Resources {
  readonly count: number
  readonly host: string
  readonly url: string
  /** Time until the first poll, as an SQL interval. */
  readonly due: string
  /** Entries per day; determines the longest polling interval. */
  readonly velocity: number
  /** ETag of the documents as last fetched; without one, the first polls read all documents. */
  readonly etag?: string
  /** Webhook of each resource, as an SQL expression; the null device by default. */
  readonly webhook?: string
}

/** Rows per statement. Between statements, the database can run its own maintenance. */
const chunk = 50_000

/**
 * Creates the schema with these resources, and one subscription per resource.
 *
 * Foreign keys are not checked, because each check costs a lookup and all rows come from this function. Secondary indexes are built after
 * the rows. With a million rows the trigram indexes are omitted: they would take minutes, and no benchmark searches here.
 */
const fill = Effect.fnUntraced(function*({ count, due, etag, host, url, velocity, webhook }: Resources) {
  const [channel, endpoint] = webhook === undefined ? [2, "'http://127.0.0.1:9/dev/null'"] : [0, webhook]
  const sql = yield* SqlClient.SqlClient
  yield* migrate
  yield* sql.unsafe(`insert into accounts (login, password_hash, created_at) values ('admin', '', now())`)
  yield* sql.unsafe(`insert into tokens (account_id, hash, rights, name, created_at)
    values (1, sha256('${token}'), ${rightsToBits(tokenRights)}, 'bench', now())`)
  const indexes = yield* sql.unsafe<{ readonly name: string; readonly definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
        where schemaname = 'public' and tablename in ('resources', 'subscriptions')
          and not exists (select from pg_constraint where conname = indexname)`
  )
  for (const { name } of indexes) yield* sql.unsafe(`drop index ${name}`)
  yield* sql.unsafe(`set session_replication_role = replica`)
  for (let from = 0; from < count; from += chunk) {
    yield* sql.unsafe(`insert into resources (key, url, host, partition, kind, velocity, created_at, unwatched_since)
          select substring(sha256(convert_to(url, 'UTF8')) for 16), url, host, i % 256, 1, ${velocity}, now(), null
          from (select i, ${url} as url, ${host} as host from generate_series(${from + 1}, ${
      Math.min(from + chunk, count)
    }) i) made`)
    const made = `resources where id > ${from} and id <= ${from + chunk}`
    yield* sql.unsafe(`insert into schedule (resource_id, next_fetch, last_fetch, period, partition, http_code)
          select id, now() + ${due}, now(), 1, partition, 304 from ${made}`)
    yield* sql.unsafe(
      etag === undefined
        ? `insert into resource_state (resource_id) select id from ${made}`
        : `insert into resource_state (resource_id, etag, fingerprint, last_parse, last_unconditional_fetch)
          select id, '${etag}', 1, now(), now() from ${made}`
    )
    yield* sql.unsafe(
      `insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at)
          select 1, id, url, ${channel}, ${endpoint}, '127.0.0.1', 0, 1, now() from (select id as i, * from ${made}) made`
    )
  }
  yield* sql.unsafe(`set session_replication_role = origin`)
  for (const { definition } of indexes) {
    if (count < 1_000_000 || !definition.includes("trgm")) yield* sql.unsafe(definition)
  }
  yield* sql.unsafe(`vacuum (analyze)`).unprepared
}, Effect.orDie)

const fillDatabase = (directory: string, resources: Resources): Promise<void> =>
  Effect.runPromise(Effect.provide(fill(resources), Layer.orDie(EmbeddedPostgres.layer({ directory }))))

/** Fills an empty database of a PostgreSQL server. */
export const fillServer = (url: string, resources: Resources): Promise<void> =>
  Effect.runPromise(Effect.provide(fill(resources), Layer.orDie(Postgres.layer({ url: Redacted.make(url) }))))

/** Starts a service with these resources. */
export const startWith = async (
  minPeriod: number,
  resources: Resources,
  more: Readonly<Record<string, string>> = {}
): Promise<Service> => {
  const directory = mkdtempSync(join(tmpdir(), "windhover-bench-"))
  await fillDatabase(directory, resources)
  return await start(minPeriod, directory, more)
}

/** Stops the outside world. */
export const stopOrigin = () => origin.disconnect()
