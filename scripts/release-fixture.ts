/**
 * Makes `test/fixtures/releases/VERSION.backup`: the backup of a small service of this release, with data in most tables.
 *
 * Run `bin/node scripts/release-fixture.ts` for a release, and after changes of the first schema until then. Tests restore and start every file
 * of the folder with later versions, so that no migration loses data. A released file never changes.
 */
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import * as http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { withSettings } from "./Environment.ts"
import { freePort } from "./FreePort.ts"
import { startService } from "./ServiceProcess.ts"

const root = join(import.meta.dirname, "..")
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }
const file = join(root, "test/fixtures/releases", `${version}.backup`)
const dataDir = mkdtempSync(join(tmpdir(), "windhover-release-"))
const token = "token-of-the-release-fixture"
const port = await freePort()
/** The key under which the secret of the fixture is sealed. The tests have the same. */
const settings = {
  WINDHOVER_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
  WINDHOVER_MIN_PERIOD: "1",
  WINDHOVER_LOG_LEVEL: "error"
}

const ids = ["first"]
let refuse = false
let received = 0
const world = http.createServer((request, response) => {
  if (request.method === "GET") {
    return response.setHeader("content-type", "application/rss+xml").end(
      `<rss version="2.0"><channel><title>A feed</title>${
        ids.map((id) => `<item><title>${id}</title><guid isPermaLink="false">${id}</guid></item>`).join("")
      }</channel></rss>`
    )
  }
  request.resume().on("end", () => {
    if (!refuse) received++
    response.writeHead(refuse ? 503 : 200).end()
  })
}).listen(0, "127.0.0.1")
await once(world, "listening")
const address = world.address()
const worldUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`

const call = async (parameters: Record<string, string>) => {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` },
    body: new URLSearchParams(parameters)
  })
  if (!response.ok) throw new Error(await response.text())
  return response.text()
}

const until = async (isReached: () => boolean | Promise<boolean>) => {
  while (!await isReached()) await sleep(100)
}

const service = await startService({ port, dataDir, token, logFile: join(dataDir, "log"), settings })
const topic = `${worldUrl}/feed`
await call({
  "hub.mode": "subscribe",
  "hub.topic": topic,
  "hub.callback": `${worldUrl}/hook`,
  "hub.secret": "secret of the release"
})
await until(async () => (await call({ "hub.mode": "retrieve", "hub.topic": topic, format: "json" })).includes("first"))
ids.unshift("second")
await call({ "hub.mode": "publish", "hub.url": topic })
await until(() => received === 1)
refuse = true
ids.unshift("third")
await call({ "hub.mode": "publish", "hub.url": topic })
await until(async () => (await call({ "hub.mode": "retrieve", "hub.topic": topic, format: "json" })).includes("third"))
await sleep(2_000) // the failed attempt is recorded

rmSync(file, { force: true })
mkdirSync(join(root, "test/fixtures/releases"), { recursive: true })
execFileSync(join(root, "bin/windhover"), ["backup", file], {
  stdio: "inherit",
  env: withSettings({ ...settings, WINDHOVER_DATA_DIR: dataDir })
})
service.kill("SIGTERM")
await once(service, "exit")
world.close()
world.closeAllConnections()
rmSync(dataDir, { recursive: true })
