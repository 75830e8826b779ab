/**
 * `bin/node bench/metrics.ts [RESOURCES] [--late]`: scrapes of `/metrics`, a million resources by default.
 *
 * Scrapes 5.2 s apart count the outbox each time; scrapes in a row repeat the count. With `--late`, all resources are on one host that
 * refuses connections, so that nearly all are late.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { startWith, stopOrigin } from "./Service.ts"

const scrapes = 20
const isLate = process.argv.includes("--late")
const count = Number(process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? 1_000_000)

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

const service = await startWith(60, {
  count,
  host: isLate ? "'127.0.0.1'" : "'feeds' || i % 100000 || '.example'",
  url: isLate ? "'http://127.0.0.1:9/' || i" : "'http://feeds' || i % 100000 || '.example/' || i",
  due: isLate ? "interval '-10 minutes'" : "interval '1 day'",
  velocity: 0
})

const scrape = async () => {
  const startedAt = performance.now()
  const text = await (await fetch(`${service.url}/metrics`)).text()
  const wallMs = performance.now() - startedAt
  const read = (series: string) =>
    Number(text.split("\n").find((line) => line.startsWith(`${series} `))?.slice(series.length))
  return {
    wallMs,
    cpuSeconds: read("process_cpu_seconds_total"),
    resources: read(`windhover_resources{state="working"}`) + read(`windhover_resources{state="failing"}`),
    late: read("windhover_late_resources")
  }
}

await sleep(isLate ? 90_000 : 15_000) // the start and its garbage collections are over
const apart: Array<number> = []
for (let i = 0; i < scrapes; i++) {
  apart.push((await scrape()).wallMs)
  await sleep(5_200)
}
const first = await scrape()
const inRow: Array<number> = []
let last = first
for (let i = 0; i < scrapes; i++) {
  last = await scrape()
  inRow.push(last.wallMs)
}
const ms = (value: number) => `${value.toFixed(1)} ms`
console.log(
  `${last.resources} resources, ${last.late} late: a scrape takes ${ms(median(apart))} (at most ${
    ms(Math.max(...apart))
  }) with a count of the outbox, ${ms(median(inRow))} in a row; CPU of the process ${
    ms((last.cpuSeconds - first.cpuSeconds) * 1000 / scrapes)
  } per scrape; medians of ${scrapes}`
)
await service.stop()
stopOrigin()
process.exit()
