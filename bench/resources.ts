/**
 * Kinds of resources and politeness: `bin/node bench/resources.ts [fragments|lateness] [--write]`.
 *
 * Fragments run in the worker thread as in production. Lateness is measured for the actors with their throttle and semaphores, on real
 * clocks, with a simulated network and a store in a map, so that no other part delays a poll.
 */
import { Effect, Layer, Option } from "effect"
import { readFileSync, writeFileSync } from "node:fs"
import { PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import { type Fragment, fragmentOf } from "#domain/poll/Fragment.ts"
import { type Fetched, Fetcher, FetchError } from "#domain/ports/Fetcher.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Selector, type Syntax } from "#domain/ports/Selector.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import * as Topic from "#domain/Topic.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"
import { replaceSection } from "./Section.ts"
import { layerSimulatedActors } from "./SimulatedActors.ts"

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN

/** A price list of about 200 kB, as a page and as JSON. */
const rows = Array.from(
  { length: 1_300 },
  (_, i) => ({ name: `Article ${i}`, price: `${i}.99`, text: "word ".repeat(14) })
)
const html = `<!doctype html><html><body><table><tbody>${
  rows.map(({ name, price, text }) =>
    `<tr class="row"><td class="name">${name}</td><td class="price">${price}</td><td>${text}</td></tr>`
  ).join("")
}</tbody></table></body></html>`
const json = JSON.stringify({ items: rows.map((row) => ({ ...row, tags: ["a", "b", "c"] })) })

const selections: ReadonlyArray<readonly [what: string, path: string, syntax: Syntax, text: string]> = [
  ["HTML, `tbody > tr:nth-child(7) > td.price`", "tbody > tr:nth-child(7) > td.price", "html", html],
  ["HTML, `td.price` (1,300 matches)", "td.price", "html", html],
  ["JSON, `$.items[7].price`", "$.items[7].price", "json", json],
  ["JSON, `$..price` (1,300 matches)", "$..price", "json", json],
  ["JSON, `$.items[?@.price == \"7.99\"]`", "$.items[?@.price == \"7.99\"]", "json", json]
]

const batch = 20
const spans = 5

const fragments = Effect.gen(function*() {
  const { select } = yield* Selector
  const lines: Array<string> = []
  for (const [what, path, syntax, text] of selections) {
    const fragment: Fragment = fragmentOf(`http://a.example/#${encodeURIComponent(path)}`) ?? { language: "css", path }
    // documents of 200 kB in turn, more than the thread caches
    const documents = Array.from({ length: batch }, (_, i) => new TextEncoder().encode(text + " ".repeat(i)))
    const same = documents.flatMap((_, __, [first = new Uint8Array()]) => [first])
    const turn = { key: "page", isForStrangers: false }
    const spend = Effect.fnUntraced(function*(documents: ReadonlyArray<Uint8Array>) {
      const started = performance.now()
      const cpu = process.cpuUsage()
      for (const bytes of documents) yield* select({ fragment, syntax, bytes, contentType: undefined, turn })
      const { system, user } = process.cpuUsage(cpu)
      return { wall: (performance.now() - started) / batch, cpu: (user + system) / 1000 / batch }
    })
    const measured = Effect.fnUntraced(function*(documents: ReadonlyArray<Uint8Array>) {
      for (let warming = 0; warming < 3; warming++) yield* spend(documents)
      const spent = yield* Effect.all(Array.from({ length: spans }, () => spend(documents)))
      const wall = median(spent.map((one) => one.wall))
      return `${(1000 / wall).toFixed(0)} | ${median(spent.map((one) => one.cpu)).toFixed(1)} ms`
    })
    const apart = yield* measured(documents)
    const together = yield* measured(same)
    lines.push(`| ${what}, ${Math.round(text.length / 1000)} kB | ${apart} | ${together} |`)
  }
  return [
    "| fragment | a second | CPU each | of the same page: a second | CPU each |",
    "| --- | --- | --- | --- | --- |",
    ...lines
  ]
}).pipe(Effect.provide(SelectorWorker.layer))

/** A resource of the simulated network. All resources with the same `big` share a host. */
interface SimulatedHost {
  readonly host: string
  readonly count: number
  readonly silent: boolean
}

/** Warm-up in ms, after which the silent hosts fall silent; measured span in ms; period in seconds. */
const warming = 10_000
const span = 30_000
const period = 10
const rounds = 3
const timeout = new FetchError({ reason: { _tag: "Timeout", message: "no answer within 30 s" } })
const unchanged: Fetched = { status: 304, headers: {}, body: new Uint8Array(), signature: 1n, finalUrl: "" }

/** Lateness of polls within the span, in ms, by host. Each resource is due once per period, first at a time of its own. */
const measureLateness = (hosts: ReadonlyArray<SimulatedHost>) =>
  Effect.gen(function*() {
    const states = new Map<number, ResourceState>()
    const late = new Map<string, Array<number>>()
    const blackHosts = new Set(hosts.filter((host) => host.silent).map(({ host }) => host))
    const began = Date.now() + 3_000
    for (const { count, host } of hosts) {
      for (let i = 0; i < count; i++) {
        const id = states.size + 1
        const due = began + ((id * 7_919) % 100_000) / 100_000 * period * 1000
        states.set(id, {
          id,
          url: `http://${host}/${id}`,
          host,
          partition: Topic.partitionOf(host),
          nextFetch: due,
          lastFetch: began - 1,
          lastUnconditionalFetch: began,
          lastParse: began,
          lastMaintenanceAt: began,
          period,
          failures: 0,
          kind: "feed",
          signature: 1n,
          inError: false,
          seen: new Uint8Array(),
          slices: new Uint8Array(),
          generatedIds: false,
          entriesSinceMaintenance: 0,
          subscribers: 1
        })
      }
    }
    const byPartition = Map.groupBy(states.values(), ({ partition }) => partition)
    const store = Layer.mock(ResourceStore, {
      load: (id) => Effect.succeed(Option.fromNullishOr(states.get(id))),
      alarms: (partition) =>
        Effect.sync(() => {
          const here = byPartition.get(partition) ?? []
          return {
            ids: Float64Array.from(here, ({ id }) => id),
            dueAt: Float64Array.from(here, ({ nextFetch }) => nextFetch),
            failing: new Float64Array()
          }
        }),
      touch: (polled) =>
        Effect.sync(() => {
          const state = states.get(polled.id)
          if (state !== undefined) states.set(polled.id, { ...state, ...polled })
        }),
      record: ({ state }) =>
        Effect.sync(() => {
          states.set(state.id, state)
          return []
        })
    })
    const fetcher = Layer.succeed(Fetcher, {
      fetch: ({ url }) =>
        Effect.suspend(() => {
          const [, , host = "", id] = url.split("/")
          const now = Date.now()
          const counts = now >= began + warming
          const lates = late.get(host)
          const by = now - (states.get(Number(id))?.nextFetch ?? now)
          if (counts && lates === undefined) late.set(host, [by])
          else if (counts) lates?.push(by)
          return counts && blackHosts.has(host)
            ? Effect.andThen(Effect.sleep(30_000), timeout)
            : Effect.as(Effect.sleep(20 + Math.random() * 160), unchanged)
        })
    })
    const cpu = process.cpuUsage()
    const actors = layerSimulatedActors(store, fetcher, { minPeriodSeconds: period, maxPeriodSeconds: period })
    yield* Effect.gen(function*() {
      const supervisor = yield* PartitionStarter
      yield* Effect.forEach(byPartition.keys(), (partition) => supervisor.start(partition), { discard: true })
      yield* Effect.sleep(began + warming + span - Date.now())
    }).pipe(Effect.scoped, Effect.provide(actors))
    const { system, user } = process.cpuUsage(cpu)
    return { late, cpu: (user + system) / 1e6 }
  })

const makeHosts = (count: number, timeout: boolean, name: string): ReadonlyArray<SimulatedHost> =>
  Array.from({ length: count }, (_, i) => ({ host: `${name}${i}.example`, count: 1, silent: timeout }))

const healthy = makeHosts(10_000, false, "h")
const fewer = healthy.slice(0, 9_000)

const scenarios: ReadonlyArray<readonly [what: string, hosts: ReadonlyArray<SimulatedHost>]> = [
  ["10,000 hosts with a resource each", healthy],
  ["the same, beside one host with 10,000", [{ host: "big.example", count: 10_000, silent: false }, ...healthy]],
  ["9,000 hosts", fewer],
  ["the same, beside 1,000 that fall silent", [...makeHosts(1_000, true, "silent"), ...fewer]]
]

/** Alternates the scenarios several times, because the machine's speed drifts. */
const lateness = Effect.gen(function*() {
  const runs = scenarios.map(([what]) => ({
    what,
    polls: new Array<number>(),
    p50: new Array<number>(),
    p99: new Array<number>(),
    cpu: new Array<number>()
  }))
  for (let round = 0; round < rounds; round++) {
    for (const [i, [, hosts]] of scenarios.entries()) {
      const { cpu, late } = yield* measureLateness(hosts)
      const all = [...late].flatMap(([host, lates]) => host.startsWith("h") ? lates : [])
      const run = runs[i]
      run?.polls.push(all.length)
      run?.p50.push(percentile(all, 0.5))
      run?.p99.push(percentile(all, 0.99))
      run?.cpu.push(cpu)
      console.log(round, run?.what, all.length, percentile(all, 0.5), percentile(all, 0.99), cpu)
    }
  }
  const p99 = runs.map((run) => median(run.p99))
  const ratio = (one: number, of: number) => ((p99[one] ?? Number.NaN) / (p99[of] ?? Number.NaN)).toFixed(2)
  return [
    `Polls of healthy hosts: each host once in ${period} s, over ${
      span / 1000
    } s, medians of ${rounds}. The simulated network takes 20 to 180 ms to respond and 30 s to fail.`,
    "",
    "| polled | polls | late, median | late, p99 | CPU |",
    "| --- | --- | --- | --- | --- |",
    ...runs.map(({ cpu, p50, p99, polls, what }) =>
      `| ${what} | ${median(polls)} | ${median(p50).toFixed(0)} ms | ${median(p99).toFixed(0)} ms | ${
        median(cpu).toFixed(1)
      } s |`
    ),
    "",
    `A host with 10,000 resources changes the p99 of the other hosts by a factor of ${ratio(1, 0)}, silent hosts by ${
      ratio(3, 2)
    } (target ≤ 1.2).`
  ]
})

const parts = { fragments, lateness }
const requested = process.argv.slice(2).filter((name): name is keyof typeof parts => name in parts)
const written: Array<string> = []
for (const name of requested.length === 0 ? ["fragments", "lateness"] as const : requested) {
  const lines = await Effect.runPromise(parts[name])
  console.log(lines.join("\n"))
  written.push(lines.join("\n"))
}
if (process.argv.includes("--write")) {
  const file = new URL("../docs/performance.md", import.meta.url)
  const body = [`\`bench/resources.ts\`, Node ${process.version}; medians of ${spans} spans.`, ...written].join("\n\n")
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "Kinds and politeness", body))
}
