/**
 * `bin/node bench/overload.ts [--write]`: a service with more polls than the machine can do.
 *
 * Each of many feeds is due once per second. Beside these polls run pings of other feeds, each with a webhook, and calls of the API. The
 * bench finds the number of polls that fit first, then compares a half of them with three times as many.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { measureProcess } from "./ProcessUsage.ts"
import { replaceSection } from "./Section.ts"
import { authorization, outside, port, type Service, startWith, stats, stopOrigin } from "./Service.ts"

/** Warm-up and measured span, in ms. */
const [warmupMs, spanMs] = [10_000, 12_000]

/** Feeds that are pinged, and pings a second. */
const [calmFeeds, pingsPerSecond] = [100, 10]

/** Calls of the API a second, of each kind. */
const callsPerSecond = 10

/** Feeds of the run that finds the number of polls that fit. */
const tooMany = 12_000

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN

const calmUrl = (i: number) => `http://127.0.0.${1 + i % 64}:${port}/calm/${i}`
const hookOf = (i: number) => `/hook/${i}`

const control = async (path: string) => await (await fetch(`${outside}/ctl/${path}`)).json() as unknown

const startLoaded = (feeds: number): Promise<Service> => {
  const host = "'127.1.' || i % 1000 / 250 || '.' || 1 + i % 250"
  return startWith(1, {
    count: feeds,
    host,
    url: `'http://' || ${host} || ':${port}/304/' || i`,
    due: "random() * interval '1 second'",
    velocity: 86_400,
    etag: "\"25\""
  }, { WINDHOVER_MAX_PERIOD: "3600" })
}

const findCapacity = async (): Promise<number> => {
  const service = await startLoaded(tooMany)
  await sleep(warmupMs)
  const before = await stats()
  await sleep(spanMs / 2)
  const rate = ((await stats()).polls - before.polls) / (spanMs / 2000)
  await service.stop()
  return rate
}

/** Times of calls at a steady pace, in ms, independent of the answers. */
const callSteadily = async (perSecond: number, call: (i: number) => Promise<void>): Promise<ReadonlyArray<number>> => {
  const times: Array<number> = []
  const calls: Array<Promise<void>> = []
  const began = performance.now()
  for (let i = 0; i * 1_000 / perSecond < spanMs; i++) {
    await sleep(Math.max(0, began + i * 1_000 / perSecond - performance.now()))
    const at = performance.now()
    calls.push(call(i).then(() => void times.push(performance.now() - at)))
  }
  await Promise.all(calls)
  return times
}

const get = (service: Service, query: string) => async () => {
  const answer = await fetch(`${service.url}/?${query}`, { headers: { authorization } })
  const text = await answer.text()
  if (!answer.ok) throw new Error(text)
}

/** Pings each calm feed after it has changed. Returns the times from the change to the callback, and the number of entries that are missing. */
const pingSteadily = async (service: Service) => {
  const changedAt: Array<readonly [feed: number, at: number]> = []
  await callSteadily(pingsPerSecond, async (i) => {
    const feed = i % calmFeeds
    changedAt.push([feed, Number(process.hrtime.bigint() / 1_000n)])
    await control(`renew/${feed}`)
    await service.call({ "hub.mode": "publish", "hub.url": calmUrl(feed) })
  })
  await sleep(5_000)
  const posted = await control("posted") as Record<string, ReadonlyArray<number>>
  const times = changedAt.map(([feed, at]) => posted[hookOf(feed)]?.find((moment) => moment >= at))
  return {
    times: times.flatMap((moment, i) => moment === undefined ? [] : [(moment - (changedAt[i]?.[1] ?? 0)) / 1_000]),
    lost: times.filter((moment) => moment === undefined).length
  }
}

/** Quantile of a histogram of `/metrics` between two readings: the bound of its bucket. */
const quantileBetween = (before: string, after: string, name: string, share: number): string => {
  const buckets = (text: string) =>
    [...text.matchAll(new RegExp(`^${name}_bucket\\{.*?le="(.*?)".*?\\} (\\d+)`, "gm"))]
      .map(([, bound = "", count = ""]) => [bound, Number(count)] as const)
  const earlier = new Map(buckets(before))
  const counts = buckets(after).map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)] as const)
  const total = counts.at(-1)?.[1] ?? 0
  return counts.find(([, count]) => count >= share * total)?.[0] ?? "+Inf"
}

const readMetrics = async (service: Service) => await (await fetch(`${service.url}/metrics`)).text()

const gauge = (metrics: string, name: string) =>
  new RegExp(`^${name}(?:\\{.*?\\})? (\\S+)`, "m").exec(metrics)?.[1] ?? ""

const measure = async (feeds: number) => {
  const service = await startLoaded(feeds)
  await Promise.all(
    Array.from(
      { length: calmFeeds },
      (_, i) =>
        service.call({ "hub.mode": "subscribe", "hub.topic": calmUrl(i), "hub.callback": `${outside}${hookOf(i)}` })
    )
  )
  await sleep(warmupMs)
  const metricsBefore = await readMetrics(service)
  await control("polled")
  const before = { ...await stats(), ...measureProcess(service.pid) }
  const [pings, lists, retrieves] = await Promise.all([
    pingSteadily(service),
    callSteadily(callsPerSecond, get(service, "hub.mode=list")),
    callSteadily(
      callsPerSecond,
      get(service, `hub.mode=retrieve&format=json&hub.topic=${encodeURIComponent(calmUrl(0))}`)
    )
  ])
  const after = { ...await stats(), ...measureProcess(service.pid) }
  const polled = await control("polled") as Record<string, number>
  const metrics = await readMetrics(service)
  await service.stop()
  const polls = Object.entries(polled).flatMap(([path, count]) => path.startsWith("/304/") ? [count] : [])
  while (polls.length < feeds) polls.push(0)
  const seconds = (after.now - before.now) / 1e6
  const quick = (times: ReadonlyArray<number>) =>
    `${percentile(times, 0.5).toFixed(0)} / ${percentile(times, 0.99).toFixed(0)} ms`
  return {
    "polls a second": ((after.polls - before.polls) / seconds).toFixed(0),
    "CPU s per 1,000 polls": ((after.cpu - before.cpu) / (after.polls - before.polls) * 1000).toFixed(3),
    "polls of a feed in the span: fewest, median, most": [0.0001, 0.5, 1].map((share) => percentile(polls, share)).join(
      ", "
    ),
    "lateness by `windhover_poll_lateness_seconds`, p50 / p99": [0.5, 0.99].map((share) =>
      `≤ ${quantileBetween(metricsBefore, metrics, "windhover_poll_lateness_seconds", share)} s`
    ).join(" / "),
    "`windhover_late_resources`": gauge(metrics, "windhover_late_resources"),
    "change → callback after a ping, p50 / p99": quick(pings.times),
    "entries missing": String(pings.lost),
    "list, p50 / p99": quick(lists),
    "retrieve, p50 / p99": quick(retrieves),
    "resident memory": `${after.rss.toFixed(0)} MB`
  }
}

const given = process.argv.slice(2).map(Number).filter((number) => number > 0)
const capacity = given[0] ?? await findCapacity()
process.stdout.write(`${capacity.toFixed(0)} polls a second fit\n`)
const shares = given.length > 1 ? given.slice(1) : [0.5, 3]
const columns: Array<{ readonly share: number; readonly figures: Awaited<ReturnType<typeof measure>> }> = []
for (const share of shares) {
  const figures = await measure(Math.round(capacity * share))
  columns.push({ share, figures })
  process.stdout.write(`${JSON.stringify({ share, figures }, undefined, 2)}\n`)
}
stopOrigin()
if (process.argv.includes("--write")) {
  const names = Object.keys(columns[0]?.figures ?? {}) as Array<keyof typeof columns[number]["figures"]>
  const file = join(import.meta.dirname, "../docs/performance.md")
  const body = [
    `\`bin/node bench/overload.ts\`, Node ${process.version}, embedded database. ${
      capacity.toFixed(0)
    } polls a second fit.`,
    "",
    `| | ${columns.map(({ share }) => `${share} × that`).join(" | ")} |`,
    `| --- |${" --- |".repeat(columns.length)}`,
    ...names.map((name) => `| ${name} | ${columns.map(({ figures }) => figures[name]).join(" | ")} |`)
  ].join("\n")
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "Load that does not fit", body))
}
