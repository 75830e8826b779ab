/**
 * `npm run bench`: cost of the main job, as ratios to undici alone on the same machine in the same run.
 *
 * Writes a table into docs/performance.md. `-- --million` adds the start with a million resources. `-- polls memory` measures some parts
 * only, without writing.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { measurePushes } from "./hub.ts"
import { replaceSection } from "./Section.ts"
import { measureProcess } from "./ProcessUsage.ts"
import { bare, outside, port, type Resources, type Service, start, startWith, stats, stopOrigin } from "./Service.ts"
import { measureStreams } from "./stream.ts"

const rows: Array<readonly [what: string, figure: string, target: string]> = []

const report = (what: string, figure: string, target: string): void => {
  rows.push([what, figure, target])
  process.stdout.write(`${what.padEnd(64)} ${figure.padEnd(34)} ${target}\n`)
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const subscribe = async (service: Service, topics: ReadonlyArray<string>, callback: (i: number) => string) => {
  const waiting = [...topics.entries()]
  const worker = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      await service.call({ "hub.mode": "subscribe", "hub.topic": next[1], "hub.callback": callback(next[0]) })
    }
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}

/** Warm-up in ms. Services run for days, and uncompiled code costs twice as much. */
const warmupMs = 20_000

/** Medians of CPU seconds per 1,000 polls and of polls per second, over three spans of 6 s. Each feed is polled once per second. */
const runPolls = async (kind: "304" | "200" | "new", feeds: number) => {
  const host = "'127.0.0.' || 1 + i % 64"
  const service = await startWith(1, {
    count: feeds,
    host,
    url: `'http://' || ${host} || ':${port}/${kind}/' || i`,
    due: "random() * interval '1 second'",
    velocity: 86_400
  })
  await sleep(warmupMs)
  const cpu: Array<number> = []
  const rates: Array<number> = []
  for (let span = 0; span < 3; span++) {
    const before = { ...measureProcess(service.pid), ...await stats() }
    await sleep(6_000)
    const after = { ...measureProcess(service.pid), ...await stats() }
    cpu.push((after.cpu - before.cpu) / (after.polls - before.polls) * 1000)
    rates.push((after.polls - before.polls) / 6)
  }
  await service.stop()
  return { cpu: median(cpu), rate: median(rates) }
}

/** Compares polls with undici alone. Three runs of undici come before and three after, because the machine's speed drifts. */
const comparePolls = async (
  what: string,
  kind: "304" | "200" | "new",
  feeds: number,
  target: string
) => {
  const before = await measureBareRuns(kind)
  const { cpu, rate } = await runPolls(kind, feeds)
  const bare = median([...before, ...await measureBareRuns(kind)])
  const paced = await measureBare(kind, 3 * Math.round(rate), String(Math.round(rate)))
  report(
    `${what}, ${feeds} feeds: CPU s per 1,000`,
    `${cpu.toFixed(3)} at ${rate.toFixed(0)}/s; undici ${bare.toFixed(3)}: ${
      (bare / cpu).toFixed(2)
    } of it per core; ` +
      `undici at the same pace ${paced.toFixed(3)}`,
    target
  )
}

/** CPU seconds per 1,000 bare requests, from three runs. */
const measureBareRuns = async (kind: "304" | "200" | "new") => {
  const figures: Array<number> = []
  for (let i = 0; i < 3; i++) figures.push(await measureBare(kind, kind === "304" ? 8_000 : 4_000))
  return figures
}

/** CPU seconds per 1,000 bare requests, at full speed or at a rate. */
const measureBare = async (kind: "304" | "200" | "new", count: number, rate = "") => {
  // the origin makes a changing document anew at each request, so the unchanged document is the lower bound
  const { cpu } = kind === "304"
    ? await bare("/304/0", count, "GET", "\"25\"", rate)
    : await bare("/200/0", count, "GET", "", rate)
  return cpu / count * 1000
}

const measurePolls = async () => {
  // the cost of waking up is shared by more polls under load: measure a half idle core and a busy one
  await comparePolls("unchanged polls (304)", "304", 1_500, "≤ 0.11, ≥ 0.4 of undici")
  await comparePolls("unchanged polls (304)", "304", 3_500, "≤ 0.11, ≥ 0.4 of undici")
  await comparePolls("unchanged polls (200, same bytes)", "200", 800, "≤ 0.25")
  await comparePolls("polls with one new entry of 25", "new", 300, "≤ 1.0")
}

/** Number of warm-up rounds of deliveries. */
const coldRounds = 4

const measureDeliveries = async () => {
  const fan = 3_000
  const service = await start(3600)
  await subscribe(service, Array.from({ length: fan }, () => `${outside}/304/0`), (i) => `${outside}/hook/${i}`)
  await sleep(2_000)
  const ratios: Array<number> = []
  const rates: Array<number> = []
  for (let round = -coldRounds; round < 5; round++) {
    const bareRate = fan / (await bare("/hook", fan, "POST")).wall
    const before = await stats()
    await fetch(`${outside}/ctl/publish`)
    await service.call({ "hub.mode": "publish", "hub.url": `${outside}/304/0` })
    while ((await stats()).posts < before.posts + fan) await sleep(20)
    const rate = fan / (((await stats()).last - before.now) / 1e6)
    if (round < 0) continue
    rates.push(rate)
    ratios.push(rate / bareRate)
  }
  report(
    `deliveries/s, one entry to ${fan} webhooks, durable outbox`,
    `${median(rates).toFixed(0)} (${median(ratios).toFixed(2)} of bare POSTs)`,
    "≥ 0.4"
  )
  await service.stop()
}

/**
 * Pings at a steady pace, independent of the answers, so that queueing shows. Each host has so few feeds that the throttle of hosts never
 * delays a fetch.
 */
const measureLatency = async () => {
  const [perSecond, topics] = [100, 1_000]
  // no scheduled polls, and pings do not wait for the throttle of their host
  const service = await start(300)
  const urls = Array.from({ length: topics }, (_, i) => `http://127.0.0.${1 + i % 64}:${port}/new/${i}`)
  await subscribe(service, urls, (i) => `${outside}/hook/${i}`)
  while ((await stats()).polls < topics) await sleep(100) // existing entries are not sent
  await sleep(2_000)
  const ping = async () => {
    const sent: Array<number> = []
    const calls: Array<Promise<void>> = []
    const began = performance.now()
    for (const [i, url] of urls.entries()) {
      await sleep(Math.max(0, began + i * 1_000 / perSecond - performance.now()))
      sent.push(Number(process.hrtime.bigint() / 1_000n))
      calls.push(service.call({ "hub.mode": "publish", "hub.url": url }))
    }
    await Promise.all(calls)
    for (;; await sleep(100)) {
      const posted = await (await fetch(`${outside}/ctl/posted`)).json() as Record<string, ReadonlyArray<number>>
      // the first delivery after the ping
      const deliveredAt = sent.map((at, i) => posted[`/hook/${i}`]?.find((moment) => moment >= at))
      if (deliveredAt.every((moment) => moment !== undefined)) {
        return sent.map((at, i) => ((deliveredAt[i] ?? 0) - at) / 1_000)
      }
    }
  }
  await ping() // warm-up
  const waits = (await ping()).toSorted((a, b) => a - b)
  report(
    `publish ping → callback, ${topics} at ${perSecond} a second`,
    `p50 ${waits[topics / 2]?.toFixed(1)} ms, p99 ${waits[Math.ceil(topics * 0.99) - 1]?.toFixed(1)} ms`,
    ""
  )
  await service.stop()
}

/** 1,000 feeds, each with a new entry at its poll; 20 polls a second. */
const measureDuePolls = async () => {
  const [feeds, perSecond] = [1_000, 20]
  const seconds = feeds / perSecond
  const host = "'127.0.0.' || 1 + i % 64"
  const service = await startWith(seconds, {
    count: feeds,
    host,
    url: `'http://' || ${host} || ':${port}/new/' || i`,
    due: `random() * interval '${seconds} seconds'`,
    velocity: 86_400,
    webhook: `'http://' || ${host} || ':${port}/hook/' || i`
  })
  const takeWaits = async () => await (await fetch(`${outside}/ctl/waits`)).json() as Array<number>
  await sleep(seconds * 1_000) // the first polls only store the entries
  await takeWaits()
  await sleep(seconds * 1_000)
  const waits = (await takeWaits()).toSorted((a, b) => a - b)
  const figure = (share: number) => ((waits[Math.ceil(waits.length * share) - 1] ?? Number.NaN) / 1_000).toFixed(1)
  report(
    `due poll with a new entry → callback, ${feeds} feeds, ${perSecond} a second`,
    `p50 ${figure(0.5)} ms, p99 ${figure(0.99)} ms after the document (${waits.length})`,
    "p50 ≤ 15 ms"
  )
  await service.stop()
}

const measureHubPushes = async () => {
  const waits = await measurePushes()
  report(
    `a publisher's hub pushes → callback, ${waits.length} at 4 a second`,
    `p50 ${waits[waits.length >> 1]?.toFixed(1)} ms, p99 ${waits[Math.ceil(waits.length * 0.99) - 1]?.toFixed(1)} ms`,
    "≤ 100 ms"
  )
}

const makeIdleResources = (count: number): Resources => ({
  count,
  host: "'h' || i || '.example'",
  url: "'http://h' || i || '.example/f'",
  due: "interval '1 hour' + random() * interval '6 hours'",
  velocity: 1
})

const measureMemory = async (count: number, target: string) => {
  const settled = async (resources: number) => {
    const service = await startWith(60, makeIdleResources(resources))
    await sleep(5_000)
    const { rss } = measureProcess(service.pid)
    await service.stop()
    return { rss, ready: service.ready }
  }
  const base = await settled(0)
  const full = await settled(count)
  const more = full.rss - base.rss
  // two runs without resources differ by some dozens of MB
  const each = more < 0.1 * base.rss ? "no measurable difference" : `${(more * 1e3 / count).toFixed(2)} kB each`
  report(
    `${count.toLocaleString("en")} resources: memory, start until scheduled`,
    `${full.rss.toFixed(0)} MB (without any ${base.rss.toFixed(0)} MB: ${each}), ${full.ready.toFixed(1)} s`,
    target
  )
}

const write = () => {
  const file = join(import.meta.dirname, "../docs/performance.md")
  const body = [
    `\`npm run bench\`, Node ${process.version}, embedded database. Origin and sink ran on the same machine. Medians of three.`,
    "",
    "| measurement | result | target |",
    "| --- | --- | --- |",
    ...rows.map((row) => `| ${row.join(" | ")} |`)
  ].join("\n")
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "Polls and deliveries", body))
}

const parts: Readonly<Record<string, () => Promise<void>>> = {
  polls: measurePolls,
  deliveries: measureDeliveries,
  latency: measureLatency,
  due: measureDuePolls,
  pushes: measureHubPushes,
  streams: measureStreams,
  memory: () => measureMemory(100_000, ""),
  million: () => measureMemory(1_000_000, "≤ 1,500 MB, ≤ 20 s")
}

const given = process.argv.slice(2)
const chosen = given.filter((name) => name in parts)
const standard = Object.keys(parts).filter((name) => name !== "million" || given.includes("--million"))
for (const name of chosen.length === 0 ? standard : chosen) await parts[name]?.()
if (chosen.length === 0) write()
stopOrigin()
