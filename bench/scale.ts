/**
 * `bin/node --max-old-space-size=8192 bench/scale.ts [resources] [period in s] [--write]`: the actors of one process with ten million alarms.
 *
 * The actors, alarms, throttles and limits are those of production. The network and the stores are simulated, so that the figures are the
 * limit of the actors alone.
 */
import { Effect, Layer, Option } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import { type Fetched, Fetcher } from "#domain/ports/Fetcher.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { partitionCount } from "#domain/Topic.ts"
import { replaceSection } from "./Section.ts"
import { layerSimulatedActors } from "./SimulatedActors.ts"

const numbers = process.argv.slice(2).map(Number).filter((number) => number > 0)
const [resources = 10_000_000, period = 3_600] = numbers

/** Warm-up and measured span, in ms. */
const [warmupMs, spanMs] = [20_000, 60_000]

/** Fetches under way at the rate of the simulation, with room. */
const maxFetches = 4_096

/** A second of lateness in steps of a millisecond; the last step has all later polls. */
const lateness = new Uint32Array(60_001)

const percentile = (share: number): number => {
  const total = lateness.reduce((sum, count) => sum + count, 0)
  let below = 0
  for (const [ms, count] of lateness.entries()) {
    below += count
    if (below >= share * total) return ms
  }
  return Infinity
}

/** Due time of each resource by its id, epoch ms. The other parts of a state are the same for all. */
const dueAt = new Float64Array(resources + 1)
const partitionOf = (id: number) => id % partitionCount

const makeState = (id: number, now: number) => ({
  id,
  url: `http://h${id}.example/feed`,
  host: `h${id}.example`,
  partition: partitionOf(id),
  nextFetch: dueAt[id] ?? 0,
  lastFetch: now - 1,
  lastUnconditionalFetch: now,
  lastParse: now,
  lastMaintenanceAt: now,
  period,
  failures: 0,
  kind: "feed" as const,
  signature: 1n,
  inError: false,
  seen: new Uint8Array(),
  slices: new Uint8Array(),
  generatedIds: false,
  entriesSinceMaintenance: 0,
  subscribers: 1
})

const store = Layer.mock(ResourceStore, {
  load: (id) => Effect.sync(() => Option.some(makeState(id, Date.now()))),
  alarms: (partition) =>
    Effect.sync(() => {
      const count = Math.floor((resources - partition) / partitionCount) + (partition === 0 ? 0 : 1)
      const first = partition === 0 ? partitionCount : partition
      const ids = Float64Array.from({ length: count }, (_, i) => first + i * partitionCount)
      return { ids, dueAt: ids.map((id) => dueAt[id] ?? 0), failing: new Float64Array() }
    }),
  touch: ({ id, nextFetch }) => Effect.sync(() => void (dueAt[id] = nextFetch))
})

const unchanged: Fetched = { status: 304, headers: {}, body: new Uint8Array(), signature: 1n, finalUrl: "" }
let isMeasuring = false
let polls = 0

/** Answers after 20 to 180 ms, like a server on the same continent. */
const fetcher = Layer.succeed(Fetcher, {
  fetch: ({ url }) =>
    Effect.suspend(() => {
      const id = Number(url.slice("http://h".length, url.indexOf(".")))
      if (isMeasuring) {
        polls++
        const late = Math.max(0, Math.round(Date.now() - (dueAt[id] ?? 0)))
        lateness[Math.min(late, lateness.length - 1)]!++
      }
      return Effect.as(Effect.sleep(20 + Math.random() * 160), unchanged)
    })
})

const measureMemory = () => process.memoryUsage.rss() / 1024 / 1024

const simulate = Effect.gen(function*() {
  const starter = yield* PartitionStarter
  const memoryBefore = measureMemory()
  const startedAt = performance.now()
  const partitions = Array.from({ length: partitionCount }, (_, partition) => partition)
  yield* Effect.forEach(partitions, (partition) => starter.start(partition), { discard: true })
  const seconds = (performance.now() - startedAt) / 1_000
  const memory = measureMemory() - memoryBefore
  yield* Effect.sleep(warmupMs)
  isMeasuring = true
  const cpuBefore = process.cpuUsage()
  yield* Effect.sleep(spanMs)
  isMeasuring = false
  const { system, user } = process.cpuUsage(cpuBefore)
  const cpuMs = (system + user) / 1_000
  return [
    ["resources, period", `${resources.toLocaleString("en")}, ${period} s`],
    ["alarms set within", `${seconds.toFixed(1)} s`],
    ["memory of the alarms", `${memory.toFixed(0)} MB, ${(memory * 1024 * 1024 / resources).toFixed(0)} bytes each`],
    [
      "resident memory at the end",
      `${measureMemory().toFixed(0)} MB, of which the simulated store has ${
        (dueAt.byteLength / 1024 / 1024).toFixed(0)
      }`
    ],
    ["polls a second", (polls / spanMs * 1_000).toFixed(0)],
    ["CPU", `${(cpuMs / spanMs).toFixed(2)} cores, ${(cpuMs * 1_000 / polls).toFixed(0)} µs a poll`],
    ["lateness, p50 / p99 / p99.9", [0.5, 0.99, 0.999].map((share) => `${percentile(share)}`).join(" / ") + " ms"]
  ]
})

const began = Date.now() + 5_000 + resources / 1_000
for (let id = 1; id <= resources; id++) dueAt[id] = began + Math.random() * period * 1_000
const rows = await Effect.runPromise(
  simulate.pipe(
    Effect.scoped,
    Effect.provide(layerSimulatedActors(store, fetcher, {
      minPeriodSeconds: period,
      maxPeriodSeconds: period,
      maxFetches
    }))
  )
)
const lines = ["| quantity | figure |", "| --- | --- |", ...rows.map((row) => `| ${row.join(" | ")} |`)]
console.log(lines.join("\n"))
if (process.argv.includes("--write")) {
  const file = new URL("../docs/scale.md", import.meta.url)
  const body = [`\`bench/scale.ts\`, Node ${process.version}, one process.`, "", ...lines].join("\n")
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "Simulation", body))
}
process.exit(0)
