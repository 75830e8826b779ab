/**
 * `bin/node bench/shared-host.ts [rounds]`: deliveries to prompt callbacks of a host whose other callbacks hang.
 *
 * 500 webhooks of one host subscribe to one feed, and 50 of them hang in the second run. The figures are the times from the ping of the
 * publisher to the arrival at the other 450.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import { start, stopOrigin } from "./Service.ts"

const rounds = Number(process.argv[2] ?? 10)
const callbacks = 500
const hanging = 50

/** Response time of a prompt callback, in ms. */
const responseMs = 20

interface Figures {
  readonly p50: number
  readonly p99: number
}

const measure = async (hangs: boolean): Promise<Figures> => {
  let entry = 0
  let arrivals: Array<number> = []
  let began = 0
  const server = createServer((request, response) => {
    request.resume()
    if (request.url === "/feed") {
      const item = `<item><guid>${entry}</guid><title>${entry}</title></item>`
      response.setHeader("content-type", "application/rss+xml")
      return void response.end(`<rss version="2.0"><channel><title>a</title>${item}</channel></rss>`)
    }
    const callback = Number(request.url?.slice(1))
    if (callback >= hanging) arrivals.push(performance.now() - began)
    else if (hangs) return
    setTimeout(() => response.end(), responseMs)
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = await start(3600)
  for (let i = 0; i < callbacks; i++) {
    await service.call({ "hub.mode": "subscribe", "hub.topic": `${url}/feed`, "hub.callback": `${url}/${i}` })
  }
  await sleep(3_000)
  const all: Array<number> = []
  for (let round = 0; round < rounds; round++) {
    arrivals = []
    entry++
    began = performance.now()
    await service.call({ "hub.mode": "publish", "hub.url": `${url}/feed` })
    while (arrivals.length < callbacks - hanging) await sleep(20)
    all.push(...arrivals)
    await sleep(3_000)
  }
  await service.stop()
  server.close()
  server.closeAllConnections()
  const sorted = all.toSorted((a, b) => a - b)
  return {
    p50: sorted[sorted.length >> 1] ?? Number.NaN,
    p99: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN
  }
}

const alone = await measure(false)
const beside = await measure(true)
const describe = ({ p50, p99 }: Figures) => `p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`
process.stdout.write(
  `without hanging callbacks: ${describe(alone)}\n`
    + `beside ${hanging} that hang: ${describe(beside)}\n`
    + `ratios: p50 ${(beside.p50 / alone.p50).toFixed(2)} (target 2), p99 ${
      (beside.p99 / alone.p99).toFixed(2)
    } (target 3)\n`
)
stopOrigin()
