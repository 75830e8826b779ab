// Sends random requests to a running Windhover: over HTTP near to the operations of its OpenAPI document, over XMPP as a server's stanzas.
//   npm run fuzz-faces -- [--minutes 60] [--seed N] [--database postgres://…/empty_database]
// Prints a line a minute. Exits with 1 when an answer has status 500 or no sentence, when the log has an error, when the service ends, or when
// its memory grows by more than a tenth in the second half of the run. The first half warms up code, caches and the database's buffers.
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { openComponentServer } from "./faces/Component.ts"
import { type Answer, exchange } from "./faces/Exchange.ts"
import { makeRequest, type OpenApiDocument, operationsOf, type RawRequest } from "./faces/HttpRequests.ts"
import { openOutside } from "./faces/Outside.ts"
import { makeStanza } from "./faces/Stanzas.ts"
import { makeRandom } from "./feeds/Random.ts"
import { freePort } from "./FreePort.ts"
import { parseOptions } from "./Options.ts"
import { startService } from "./ServiceProcess.ts"

const options = parseOptions("usage: npm run fuzz-faces -- [--minutes 60] [--seed N] [--database URL]", {
  minutes: { type: "string", default: "60" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  database: { type: "string" }
})
const durationMs = Number(options.minutes) * 60_000

/** Requests at a time, and the time of one, in ms. A stream would stay open. */
const concurrency = 8
const answerTimeoutMs = 8_000
const stanzasPerSecond = 100

/** Servers refuse larger stanzas of their clients. */
const maxStanzaLength = 512 << 10
const component = "push.localhost"
const token = "fuzz-token-0123456789abcdef"

const directory = mkdtempSync(join(tmpdir(), "windhover-fuzz-"))
const logFile = join(directory, "service.log")
const outside = await openOutside()
const server = await openComponentServer(component)
const port = await freePort()
const base = `http://127.0.0.1:${port}`
const service = await startService({
  port,
  logFile,
  dataDir: join(directory, "data"),
  token,
  settings: {
    WINDHOVER_XMPP_COMPONENT: component,
    WINDHOVER_XMPP_DOMAIN: "localhost",
    WINDHOVER_XMPP_SECRET: "fuzz secret",
    WINDHOVER_XMPP_PORT: String(server.port),
    ...(options.database === undefined ? {} : { WINDHOVER_DATABASE_URL: options.database })
  }
})

const operations = operationsOf(await (await fetch(`${base}/openapi.json`)).json() as OpenApiDocument)
const places = { base, outside: outside.url }
const authorization = `Basic ${Buffer.from(`admin:${token}`).toString("base64")}`
const statuses = new Map<string, number>()
const findings: Array<string> = []
const report = (finding: string) => {
  if (findings.length < 100) findings.push(finding)
  console.log(finding)
}

/** A fault of the answer; undefined for a good one. Methods without a body, and damaged requests, need no sentence. */
const faultOf = ({ method }: RawRequest, answer: Answer | undefined): string | undefined => {
  if (answer === undefined) return undefined
  if (answer.status === 500) return "status 500"
  return answer.status >= 400 && answer.body.trim() === "" && method !== "HEAD" &&
      !/^content-length: 0/im.test(answer.head)
    ? "an error without a sentence"
    : undefined
}

const end = Date.now() + durationMs
const seed = Number(options.seed)
console.log(`seed ${seed}, ${operations.length} operations; ${logFile}`)

const fuzzHttp = async (worker: number) => {
  const random = makeRandom(seed + worker)
  while (Date.now() < end && service.exitCode === null) {
    const request = makeRequest(random, operations, places, authorization)
    const answer = await exchange(request, port, random() < 0.1 ? 20 : answerTimeoutMs)
    const status = String(answer?.status ?? "none")
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    const fault = faultOf(request, answer)
    if (fault !== undefined) {
      report(
        `${fault}: ${JSON.stringify(Buffer.concat(request.parts).toString("latin1").slice(0, 3000))} ${
          answer?.body.slice(0, 200)
        }`
      )
    }
  }
}

const fuzzXmpp = async () => {
  const random = makeRandom(seed + concurrency)
  while (Date.now() < end && service.exitCode === null) {
    for (let i = 0; i < stanzasPerSecond / 10; i++) {
      const stanza = makeStanza(random, component, places)
      if (stanza.length <= maxStanzaLength) server.send(stanza)
    }
    await sleep(100)
  }
}

/** Resident memory in MB; 0 after the end of the process. */
const resident = (): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service.pid}/status`, "utf8"))?.[1]) / 1024
  } catch {
    return 0
  }
}

const memory: Array<number> = []
const watch = async () => {
  while (Date.now() < end && service.exitCode === null) {
    await sleep(Math.min(60_000, durationMs / 20))
    memory.push(resident())
    console.log(
      `${Math.round(memory.at(-1) ?? 0)} MB`,
      JSON.stringify(Object.fromEntries([...statuses].toSorted())),
      JSON.stringify(Object.fromEntries(server.counts))
    )
  }
}

await Promise.all([...Array.from({ length: concurrency }, (_, worker) => fuzzHttp(worker)), fuzzXmpp(), watch()])

if (service.exitCode !== null) report(`the service ended with code ${service.exitCode}`)
else {
  service.kill("SIGTERM")
  await once(service, "exit")
}
const errors = readFileSync(logFile, "utf8").split("\n").filter((line) =>
  /level=(ERROR|FATAL)|unexpectedly/i.test(line)
)
for (const line of errors.slice(0, 20)) report(`log: ${line.slice(0, 500)}`)
if ((server.counts.get("internal-server-error") ?? 0) > 0) report("XMPP: internal-server-error")
/** Median of a tenth of the samples, from the given share of the run. */
const medianFrom = (share: number): number => {
  const size = Math.ceil(memory.length / 10)
  const from = Math.min(Math.floor(memory.length * share), memory.length - size)
  return memory.slice(from, from + size).toSorted((a, b) => a - b)[Math.floor(size / 2)] ?? 0
}
const middle = medianFrom(0.5)
const late = medianFrom(0.9)
console.log(
  `memory ${Math.round(middle)} MB after half the time, ${Math.round(late)} MB at the end; ${findings.length} findings`
)
if (late > middle * 1.1) report("memory grows")
outside.close()
server.close()
if (findings.length === 0) rmSync(directory, { recursive: true })
process.exit(findings.length === 0 ? 0 : 1)
