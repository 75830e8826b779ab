// Runs Windhover for an hour between publishers and receivers that answer in odd ways, kills it five times, and counts entries by id.
//   npm run soak -- --minutes 60 --feeds 500 --kills 5
// Each feed has two subscriptions, one in Atom and one in JSON. Prints a line a minute, then the audit. Exits with 1 when an entry is lost,
// told twice or invented, when a sequence has a gap, or when a confirmed notification comes again without a kill.
// --backups 3 makes backups meanwhile and restores them beside the service: each must hold all that was acknowledged before it began.
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "./FreePort.ts"
import { parseOptions } from "./Options.ts"
import { startService } from "./ServiceProcess.ts"
import { audit, isFlawless } from "./soak/Audit.ts"
import { Feed } from "./soak/Feed.ts"
import { openOrigin } from "./soak/Origin.ts"
import { openReceivers } from "./soak/Receivers.ts"
import { tryBackup } from "./soak/RestoredBackup.ts"

const usage = "usage: npm run soak -- [--minutes 60] [--feeds 500] [--kills 5] [--faults 0.3] [--backups 0] [--seed 1]"
const options = parseOptions(usage, {
  minutes: { type: "string", default: "60" },
  feeds: { type: "string", default: "500" },
  kills: { type: "string", default: "5" },
  faults: { type: "string", default: "0.3" },
  backups: { type: "string", default: "0" },
  seed: { type: "string", default: "1" }
})
const durationMs = Number(options.minutes) * 60_000
const faultShare = Number(options.faults)
const killCount = Number(options.kills)
const backupCount = Number(options.backups)

/** Mean time between two entries of one feed, in ms. */
const publicationMs = 60_000

/** Time after the last fault in which the rest has to arrive, in ms. */
const drainMs = 600_000

/** Entries of a feed before its subscriptions; the first fetch tells none of them. */
const firstEntries = 1

const subscriptions = ["atom", "json"] as const

/** Mulberry32: the same faults for the same seed. */
const makeRandom = (seed: number) => () => {
  seed = seed + 0x6d2b79f5 | 0
  let mixed = Math.imul(seed ^ seed >>> 15, seed | 1)
  mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61)
  return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
}

const random = makeRandom(Number(options.seed))
const feeds = Array.from({ length: Number(options.feeds) }, (_, number) => new Feed(number))
const origin = await openOrigin(feeds, makeRandom(Number(options.seed) + 1), faultShare)
const receivers = await openReceivers(makeRandom(Number(options.seed) + 2), faultShare)
const directory = mkdtempSync(join(tmpdir(), "windhover-soak-"))
const logFile = join(directory, "service.log")
const port = await freePort()
const base = `http://127.0.0.1:${port}`
const token = "soak-token-0123456789abcdef"

const start = () =>
  startService({
    port,
    logFile,
    dataDir: join(directory, "data"),
    token,
    settings: { WINDHOVER_MIN_PERIOD: "20", WINDHOVER_MAX_PERIOD: "40" }
  })

const call = async (parameters: Record<string, string>): Promise<number> => {
  const response = await fetch(base, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` },
    body: new URLSearchParams(parameters)
  })
  const text = await response.text()
  if (response.status >= 400) throw new Error(`${response.status}: ${text}`)
  return response.status
}

const subscribeAll = async () => {
  for (const feed of feeds) {
    for (const [index, format] of subscriptions.entries()) {
      await call({
        "hub.mode": "subscribe",
        "hub.topic": origin.urlOf(feed),
        "hub.callback": receivers.urlOf(feed, index),
        format
      })
    }
  }
}

/** Waits until each feed has been read: only later entries are news. */
const awaitFirstFetches = async () => {
  for (;;) {
    const statuses = await Promise.all(feeds.map((feed) => isRead(feed)))
    if (statuses.every(Boolean)) return
    await sleep(1_000)
  }
}

const isRead = async (feed: Feed): Promise<boolean> => {
  const query = new URLSearchParams({ "hub.mode": "retrieve", "hub.topic": origin.urlOf(feed), format: "json" })
  const response = await fetch(`${base}?${query}`, {
    headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` }
  })
  return (await response.text()).includes(`urn:feed:${feed.number}:0`)
}

const describe = (counts: ReadonlyMap<string, number>) =>
  [...counts].toSorted(([, a], [, b]) => b - a).map(([name, count]) => `${name} ${count}`).join(", ")

let service = await start()
await subscribeAll()
await awaitFirstFetches()
origin.setFaulty(true)
receivers.setFaulty(true)
const began = Date.now()
const kills: Array<number> = []
let nextReport = began + 60_000
console.log(`${feeds.length} feeds, ${feeds.length * subscriptions.length} subscriptions; ${logFile}`)

let backups = 0
let isBackupWhole = true

/** Runs beside the publications; a kill meanwhile breaks the backup off, and it is made once more. */
const makeBackup = async () => {
  const killed = kills.length
  try {
    const { missing, ...counts } = await tryBackup(directory, receivers.accepted, feeds.length * subscriptions.length)
    console.log(
      `backup ${++backups}`,
      JSON.stringify({ ...counts, missing: missing.length }),
      missing.slice(0, 5).join(", ")
    )
    isBackupWhole &&= missing.length === 0
  } catch (error) {
    if (kills.length === killed) throw error
    console.log(`a kill broke off backup ${backups + 1}`)
  }
}

let backup: Promise<void> | undefined

const check = () => audit(feeds, subscriptions.length, receivers.accepted, kills, firstEntries)

while (Date.now() < began + durationMs) {
  await sleep(200)
  for (const feed of feeds) {
    if (random() > 200 / publicationMs) continue
    feed.publish()
    if (random() < 0.2) await call({ "hub.mode": "publish", "hub.url": origin.urlOf(feed) }).catch(() => undefined)
  }
  if (Date.now() > began + durationMs * (kills.length + 1) / (killCount + 1)) {
    service.kill("SIGKILL")
    await once(service, "exit")
    service = await start()
    kills.push(Date.now())
  }
  if (
    backups < backupCount && backup === undefined && Date.now() > began + durationMs * (backups + 1) / (backupCount + 1)
  ) {
    backup = makeBackup().finally(() => void (backup = undefined))
  }
  if (Date.now() > nextReport) {
    nextReport += 60_000
    const { examples, ...counts } = check()
    console.log(
      `${Math.round((Date.now() - began) / 60_000)} min`,
      JSON.stringify(counts),
      examples.find((text) => !text.startsWith("lost")) ?? ""
    )
  }
}
await backup
origin.setFaulty(false)
receivers.setFaulty(false)
const drainUntil = Date.now() + drainMs
while (check().lost > 0 && Date.now() < drainUntil) await sleep(1_000)
await sleep(30_000) // a repetition would arrive by now

const result = check()
console.log(JSON.stringify(result, undefined, 2))
console.log(`answers of publishers: ${describe(origin.counts)}`)
console.log(`answers of receivers: ${describe(receivers.counts)}`)
service.kill("SIGTERM")
await once(service, "exit")
origin.close()
receivers.close()
const isGood = isFlawless(result) && isBackupWhole && backups === backupCount
if (isGood) rmSync(directory, { recursive: true })
process.exitCode = isGood ? 0 : 1
