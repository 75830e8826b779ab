/**
 * Server-sent events to many clients, compared to Node's server alone with the same bytes. Part of `npm run bench`.
 *
 * One feed gets an entry about once per second. The cost of fetching, reading and storing is measured with one client, and subtracted.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { replaceSection } from "./Section.ts"
import { measureProcess } from "./ProcessUsage.ts"
import { authorization, firstLine, node, outside, type Service, start, stopOrigin } from "./Service.ts"

interface Counts {
  readonly events: number
  readonly bytes: number
  readonly ended: number
}

const spawnPeer = (name: string, ...parameters: ReadonlyArray<string>) =>
  spawn(node, [join(import.meta.dirname, name), ...parameters], { stdio: ["ignore", "pipe", "inherit", "ipc"] })

const getCounts = async (clients: ChildProcess): Promise<Counts> => {
  clients.send("how many?")
  const [counts] = await once(clients, "message") as [Counts]
  return counts
}

const openClients = async (url: string, count: number) => {
  const clients = spawnPeer("listeners.ts", url, String(count), authorization)
  await firstLine(clients, /(ready)/)
  return clients
}

/** CPU seconds of the server and bytes of an event, for several rounds of one event to each client. */
const rounds = async (
  count: number,
  pid: number,
  clients: ChildProcess,
  listening: number,
  next: () => Promise<void>
) => {
  const before = { ...measureProcess(pid), ...await getCounts(clients) }
  let counts: Counts = before
  for (let round = 1; round <= count; round++) {
    await next()
    await sleep(1_100) // pings of one resource are answered once per second
    for (;; await sleep(50)) {
      counts = await getCounts(clients)
      if (counts.ended > 0) throw new Error("the server disconnected a client")
      if (counts.events >= before.events + round * listening) break
    }
  }
  const bytes = (counts.bytes - before.bytes) / (counts.events - before.events)
  return { cpu: measureProcess(pid).cpu - before.cpu, bytes: Math.round(bytes) }
}

const publish = (service: Service) => async () => {
  await fetch(`${outside}/ctl/publish`)
  await service.call({ "hub.mode": "publish", "hub.url": `${outside}/304/0` })
}

/** Opens `count` clients and measures the memory of each after a pause. */
const openAndMeasure = async (url: string, count: number, pid: number) => {
  const before = measureProcess(pid).rss
  const clients = await openClients(url, count)
  await sleep(5_000)
  return { clients, kilobytes: (measureProcess(pid).rss - before) * 1024 / count }
}

const closeClients = async (clients: ChildProcess) => {
  clients.disconnect()
  await once(clients, "exit")
}

const measureWindhover = async (count: number, times: number) => {
  const service = await start(3600)
  await service.call({
    "hub.mode": "subscribe",
    "hub.topic": `${outside}/304/0`,
    "hub.callback": `${service.url}/dev/null`,
    retrieve: "true"
  })
  const url = `${service.url}/stream?hub.mode=retrieve&count=1&hub.topic=${encodeURIComponent(`${outside}/304/0`)}`
  const one = await openClients(url, 1)
  await rounds(40, service.pid, one, 1, publish(service)) // warm-up of the code for entries, whose cost is subtracted below
  const alone = await rounds(times, service.pid, one, 1, publish(service))
  await closeClients(one)
  const { clients, kilobytes } = await openAndMeasure(url, count, service.pid)
  const { bytes, cpu } = await rounds(times, service.pid, clients, count, publish(service))
  await closeClients(clients)
  await service.stop()
  return { bytes, kilobytes, alone: alone.cpu / times, micros: (cpu - alone.cpu) / times / count * 1e6 }
}

const measureNode = async (count: number, times: number, bytes: number) => {
  const server = spawnPeer("events.ts")
  const port = await firstLine(server, /(\d+)/)
  const pid = server.pid ?? 0
  const { clients, kilobytes } = await openAndMeasure(`http://127.0.0.1:${port}/`, count, pid)
  const next = async () => void server.send(bytes)
  await rounds(2, pid, clients, count, next)
  const { cpu } = await rounds(times, pid, clients, count, next)
  await closeClients(clients)
  server.disconnect()
  await once(server, "exit")
  return { kilobytes, micros: cpu / times / count * 1e6 }
}

/** Measures, and writes the section. */
export const measureStreams = async () => {
  const rows: Array<string> = []
  for (const [count, times] of [[1_000, 20], [10_000, 6]] as const) {
    const { alone, bytes, kilobytes, micros } = await measureWindhover(count, times)
    const raw = await measureNode(count, times, bytes)
    const figures = [
      count.toLocaleString("en"),
      micros > 0 ? `${micros.toFixed(1)} µs` : "in the noise",
      `${raw.micros.toFixed(1)} µs`,
      micros > 0 ? (raw.micros / micros).toFixed(2) : "–",
      `${kilobytes.toFixed(1)} kB`,
      `${raw.kilobytes.toFixed(1)} kB`,
      `${(alone * 1000).toFixed(0)} ms`
    ]
    rows.push(`| ${figures.join(" | ")} |`)
    process.stdout.write(`${figures.join("  ")}  (${bytes} bytes an event)\n`)
  }
  const file = join(import.meta.dirname, "../docs/performance.md")
  const body = [
    `Server-Sent Events of one feed (\`bench/stream.ts\`, Node ${process.version}): CPU of the process per client and event, beside Node's own server with the same bytes and as many responses. The target is a ratio of at least 0.4.`,
    "The last column is the cost of the entry itself, once for all clients: the fetch, the reading and the storing in the embedded database.",
    "",
    "| clients | Windhover | Node alone | of Node alone | memory of an idle client | Node alone | an entry |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows
  ].join("\n")
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "Streams", body))
}

if (import.meta.main) {
  await measureStreams()
  stopOrigin()
}
