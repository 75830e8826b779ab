/**
 * `bin/node bench/overviews.ts`: CPU of open overviews, with 20 new entries a second.
 *
 * Spans without pages and with 100 of them alternate, so that both meet the same machine.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { measureProcess } from "./ProcessUsage.ts"
import { authorization, outside, start, stopOrigin } from "./Service.ts"

const pages = 100
const spanMs = 10_000
const rounds = 3

const service = await start(1)
for (let i = 0; i < 20; i++) {
  await service.call({
    "hub.mode": "subscribe",
    "hub.topic": `${outside}/new/${i}`,
    "hub.callback": `${service.url}/dev/null`
  })
}

let received = 0

/** Opens the live events of an overview. */
const open = async () => {
  const aborter = new AbortController()
  const response = await fetch(`${service.url}/api/live?all=true`, {
    headers: { authorization },
    signal: aborter.signal
  })
  if (!response.ok || response.body === null) throw new Error(await response.text())
  const read = async () => {
    for await (const chunk of response.body ?? []) received += chunk.length
  }
  read().catch(() => undefined) // the end of the span
  return () => aborter.abort()
}

const measureSpan = async () => {
  const before = measureProcess(service.pid).cpu
  await sleep(spanMs)
  return (measureProcess(service.pid).cpu - before) / (spanMs / 1000)
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN

await sleep(15_000)
const without: Array<number> = []
const withPages: Array<number> = []
for (let round = 0; round < rounds; round++) {
  without.push(await measureSpan())
  const closers = await Promise.all(Array.from({ length: pages }, open))
  await sleep(1_000)
  withPages.push(await measureSpan())
  for (const close of closers) close()
  await sleep(1_000)
}
const percent = (share: number) => `${(share * 100).toFixed(1)} %`
console.log(`no page: ${percent(median(without))} of a core; ${pages} overviews: ${percent(median(withPages))}`)
console.log(
  `difference: ${percent(median(withPages.map((share, i) => share - (without[i] ?? 0))))}; received ${received} bytes`
)
await service.stop()
stopOrigin()
process.exit()
