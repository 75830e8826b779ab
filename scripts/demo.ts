/**
 * The main job on one machine: a feed with new entries, a webhook that checks signatures, an XMPP client, and Windhover in between.
 *
 * Run `npm run demo`. The demo ends with Ctrl-C, or on its own after `-- --seconds N`.
 */
import { spawn } from "node:child_process"
import { createHmac, timingSafeEqual } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { openXmpp } from "./demo/Xmpp.ts"
import { withSettings } from "./Environment.ts"
import { exitWithError, parseOptions } from "./Options.ts"
import { freePort } from "./FreePort.ts"

const usage = "npm run demo [-- --seconds N]: shows the main job, for N seconds or until Ctrl-C."
const options = parseOptions(usage, { seconds: { type: "string" } })
const seconds = Number(options.seconds ?? Infinity)
if (!(seconds > 0)) exitWithError(`--seconds is a number above 0, not "${options.seconds}".\n${usage}`)
const secret = "a secret that only Windhover and the webhook know"
const token = "demo-token-0123456789"
const started = Date.now()

const report = (part: string, event: string): void => {
  const at = ((Date.now() - started) / 1000).toFixed(1).padStart(5)
  process.stdout.write(`${at} s  ${part.padEnd(10)} ${event}\n`)
}

const listen = async (answer: RequestListener): Promise<{ readonly server: Server; readonly url: string }> => {
  const server = createServer(answer)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const entries: Array<{ readonly title: string; readonly at: Date }> = [{ title: "It was always here", at: new Date() }]

const item = ({ at, title }: typeof entries[number], number: number): string =>
  `<item><title>${title}</title><guid isPermaLink="false">demo-${number}</guid>` +
  `<link>http://demo.example/${number}</link><pubDate>${at.toUTCString()}</pubDate></item>`

const feed = await listen((_request, response) => {
  response.writeHead(200, { "content-type": "application/rss+xml" })
  response.end(
    `<?xml version="1.0"?><rss version="2.0"><channel><title>A feed that never sleeps</title><link>http://demo.example/</link>` +
      `${entries.map(item).toReversed().join("")}</channel></rss>`
  )
})

const isSigned = (body: Buffer, header: string | undefined): boolean => {
  const right = Buffer.from(`sha1=${createHmac("sha1", secret).update(body).digest("hex")}`)
  const given = Buffer.from(header ?? "")
  return given.length === right.length && timingSafeEqual(given, right)
}

const webhook = await listen(async (request, response) => {
  const body = await readBody(request)
  response.end()
  const header = (name: string) => String(request.headers[name] ?? "")
  const signature = isSigned(body, header("x-hub-signature")) ? "signature good" : "SIGNATURE WRONG"
  const titles = [...body.toString().matchAll(/<entry[^>]*>.*?<title[^>]*>(.*?)<\/title>/gs)].map((match) => match[1])
  report(
    "webhook",
    `got ${titles.map((title) => JSON.stringify(title)).join(", ")} (no. ${
      header("x-windhover-sequence")
    }, ${signature}, ` +
      `credits ${header("x-service-credits")})`
  )
})

const directory = mkdtempSync(join(tmpdir(), "windhover-demo-"))
const port = await freePort()

report("demo", "starts an XMPP server: Debian's Prosody, unpacked into ./data at the first run")
const xmpp = await openXmpp(directory, port).catch((error: unknown) => {
  report("xmpp", `is left out: ${error instanceof Error ? error.message : String(error)}`)
  return undefined
})

const windhover = spawn(join(import.meta.dirname, "../bin/windhover"), ["serve"], {
  stdio: ["ignore", "pipe", "inherit"],
  env: withSettings({
    WINDHOVER_PORT: String(port),
    WINDHOVER_HOST: "127.0.0.1",
    WINDHOVER_DATA_DIR: directory,
    WINDHOVER_ALLOW_PRIVATE: "true",
    WINDHOVER_MIN_PERIOD: "2",
    WINDHOVER_ADMIN_TOKEN: token,
    WINDHOVER_LOG_LEVEL: "warn",
    ...xmpp?.settings
  })
})

const hasEnded = (): boolean => windhover.exitCode !== null || windhover.signalCode !== null

const waitUntilReady = async (): Promise<string> => {
  for await (const line of createInterface({ input: windhover.stdout })) {
    const address = /ready on (http:\S+)/.exec(line)?.[1]
    if (address !== undefined) return address
  }
  throw new Error("Windhover did not start; its output is above.")
}

const call = async (base: string, parameters: Record<string, string>): Promise<void> => {
  const response = await fetch(base, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` },
    body: new URLSearchParams(parameters)
  })
  if (!response.ok) throw new Error(`Windhover answered ${response.status}: ${await response.text()}`)
}

let stopping = false
const stop = async (): Promise<void> => {
  if (stopping) return
  stopping = true
  clearInterval(publishing)
  clearTimeout(ending)
  report("demo", "stops; Windhover completes the deliveries in flight")
  if (!hasEnded()) {
    const ended = once(windhover, "exit")
    windhover.kill("SIGTERM")
    await ended
  }
  await xmpp?.stop()
  for (const { server } of [feed, webhook]) server.close()
  for (const { server } of [feed, webhook]) server.closeAllConnections()
  rmSync(directory, { recursive: true, force: true })
}

/** Failures after the start of a stop are expected, and ignored. */
const fail = async (message: string): Promise<void> => {
  if (stopping) return
  process.exitCode = 1
  process.stderr.write(`${message}\n`)
  await stop()
}

let publishing: NodeJS.Timeout | undefined
let ending: NodeJS.Timeout | undefined
// a terminal also sends Ctrl-C to npm and Windhover, and npm may forward the signal: only the first one counts
process.on("SIGINT", () => void stop())
process.on("SIGTERM", () => void stop())
// the reader has gone (`| head`): stop the child processes
process.stdout.on("error", () => void stop())

const publish = (): void => {
  const title = `News no. ${entries.length}`
  entries.push({ title, at: new Date() })
  report("feed", `publishes "${title}"; Windhover finds it at its next poll`)
}

try {
  const base = await waitUntilReady()
  report("windhover", `is ready on ${base}, with an empty database`)
  await call(base, {
    "hub.mode": "subscribe",
    "hub.topic": `${feed.url}/feed.xml`,
    "hub.callback": `${webhook.url}/hook`,
    "hub.secret": secret
  })
  report("windhover", `has subscribed ${webhook.url}/hook to ${feed.url}/feed.xml; existing entries are not sent`)
  if (xmpp !== undefined && !stopping) {
    const jid = await xmpp.subscribe({ login: "admin", password: token }, `${feed.url}/feed.xml`, (titles) => {
      report("xmpp", `got ${titles.map((title) => JSON.stringify(title)).join(", ")}`)
    })
    report("windhover", `has subscribed ${jid} to the same feed, over XMPP`)
  }
  if (!stopping) {
    windhover.once("exit", () => void fail("Windhover has ended by itself; its output is above."))
    publishing = setInterval(publish, 4_000)
    if (Number.isFinite(seconds)) ending = setTimeout(() => void stop(), seconds * 1_000)
  }
} catch (error) {
  await fail(error instanceof Error ? error.message : String(error))
}
