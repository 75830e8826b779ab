/**
 * `bin/node bench/takeover.ts URL [kills] [runners]`: time from the kill of a runner until the others run all its partitions.
 *
 * Kills in turn the runner with the health checker of the cluster, and another one. The URL is that of an empty PostgreSQL database, and
 * the program `psql` counts the locks in it.
 */
import { RunnerAddress } from "effect/cluster"
import * as Hash from "effect/Hash"
import * as HashRing from "effect/HashRing"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { withSettings } from "#scripts/Environment.ts"
import { freePort } from "#scripts/FreePort.ts"

const [database = "", kills = 30, runnerCount = 3] = [process.argv[2], ...process.argv.slice(3).map(Number)]

/** Shards of the cluster, each with one lock. */
const shardCount = 300

interface Runner {
  readonly process: ChildProcess
  readonly address: RunnerAddress.RunnerAddress
  readonly url: string
}

const start = async (port: number): Promise<Runner> => {
  const child = spawn(join(import.meta.dirname, "../bin/windhover"), ["serve"], {
    stdio: ["ignore", "pipe", "ignore"],
    env: withSettings({
      WINDHOVER_PORT: "0",
      WINDHOVER_HOST: "127.0.0.1",
      WINDHOVER_DATABASE_URL: database,
      WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${port}`
    })
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /ready on (http:\S+)/.exec(line)?.[1]
    if (url === undefined) continue
    child.stdout.resume()
    return {
      process: child,
      address: RunnerAddress.make("127.0.0.1", port),
      url: url.replace("localhost", "127.0.0.1")
    }
  }
  throw new Error("a runner has not started")
}

const isReady = async ({ url }: Runner) => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200

const lockCount = "select count(*) from pg_locks where locktype = 'advisory' and objsubid = 2 and granted"

const countLocks = async () => Number((await promisify(execFile)("psql", ["-XqAt", "-c", lockCount, database])).stdout)

/** Returns when the runners hold all shards and all their partitions are awake. */
const settle = async (runners: ReadonlyArray<Runner>) => {
  while (await countLocks() !== shardCount || !(await Promise.all(runners.map(isReady))).every(Boolean)) await sleep(20)
}

/** The runner of the health checker, as the hash ring of the cluster assigns its shard. */
const findChecker = (runners: ReadonlyArray<Runner>): number => {
  const ring = HashRing.make<RunnerAddress.RunnerAddress>()
  for (const { address } of runners) HashRing.add(ring, address, { weight: 1 })
  const shard = Math.abs(Hash.string("effect/cluster/Sharding/RunnerHealth") % shardCount)
  const owner = HashRing.getShards(ring, shardCount)?.[shard]
  return runners.findIndex(({ address }) => address.port === owner?.port)
}

const percentile = (values: ReadonlyArray<number>, share: number) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]?.toFixed(1)

const runners: Array<Runner> = []
for (let i = 0; i < runnerCount; i++) runners.push(await start(await freePort()))
const seconds = { checker: [] as Array<number>, other: [] as Array<number> }
for (let kill = 0; kill < 2 * kills; kill++) {
  await settle(runners)
  await sleep(2_000 + Math.random() * 2_000)
  const kind = kill % 2 === 0 ? "checker" : "other"
  const checker = findChecker(runners)
  const victim = kind === "checker" ? checker : (checker + 1 + kill % (runnerCount - 1)) % runnerCount
  const [killed] = runners.splice(victim === checker && kind === "other" ? (victim + 1) % runnerCount : victim, 1)
  if (killed === undefined) throw new Error("no runner to kill")
  const exited = once(killed.process, "exit")
  const began = performance.now()
  killed.process.kill("SIGKILL")
  await exited
  await settle(runners)
  const taken = (performance.now() - began) / 1000
  seconds[kind].push(taken)
  process.stdout.write(`${kind} ${taken.toFixed(1)} s\n`)
  runners.push(await start(killed.address.port))
}
for (const [kind, values] of Object.entries(seconds)) {
  process.stdout.write(
    `${kind}: ${values.length} kills, median ${percentile(values, 0.5)} s, p90 ${percentile(values, 0.9)} s, longest ${
      percentile(values, 1)
    } s\n`
  )
}
for (const { process } of runners) process.kill("SIGKILL")
