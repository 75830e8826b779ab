// Runs two Windhovers on one PostgreSQL beside a real XMPP server, with faults of the processes and the network, and counts entries by id.
//   bin/node scripts/xmpp-faults.ts --database postgres://…/empty_database --minutes 10
// Needs Debian's Prosody (`npm run prosody -- --unpack`). Prints each fault and the report. Exits with 1 when the server has not confirmed an
// entry, or when entries of a feed are out of order.
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { exitWithError, parseOptions } from "./Options.ts"
import { install } from "./prosody/Install.ts"
import { faults } from "./xmpp-faults/Faults.ts"
import { runTrial } from "./xmpp-faults/Trial.ts"

const usage =
  "usage: bin/node scripts/xmpp-faults.ts --database URL [--minutes 10] [--feeds 100] [--clients 2] [--conflict kick_old] [--seed 1]"
const options = parseOptions(usage, {
  database: { type: "string" },
  minutes: { type: "string", default: "10" },
  feeds: { type: "string", default: "100" },
  clients: { type: "string", default: "2" },
  conflict: { type: "string", default: "kick_old" },
  seed: { type: "string", default: "1" }
})
const { conflict, database } = options
if (database === undefined) exitWithError(usage)
if (conflict !== "kick_new" && conflict !== "kick_old") exitWithError(usage)

const log = (line: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`)

const report = await runTrial({
  prosody: await install(join(import.meta.dirname, "../data/prosody")),
  database: database!,
  feeds: Number(options.feeds),
  clientsOfEachHabit: Number(options.clients),
  durationMs: Number(options.minutes) * 60_000,
  publicationMs: 200,
  drainMs: 600_000,
  conflict: conflict as "kick_new" | "kick_old",
  seed: Number(options.seed),
  log
}, async (trial) => {
  const end = performance.now() + trial.options.durationMs
  const publishing = (async () => {
    while (performance.now() < end) {
      void trial.publish(Math.floor(Math.random() * trial.options.feeds))
      await sleep(trial.options.publicationMs * 2 * Math.random())
    }
  })()
  const names = Object.keys(faults)
  for (let i = 0; performance.now() < end; i++) {
    const name = i < names.length ? names[i]! : names[Math.floor(trial.random() * names.length)]!
    log(name)
    await faults[name]!(trial)
    await sleep(3_000 + 5_000 * trial.random())
  }
  await publishing
  const tookMs = await trial.drain()
  log(tookMs === undefined ? "entries are missing" : `all entries are confirmed after ${(tookMs / 1000).toFixed(1)} s`)
  return trial.audit()
})
console.log(
  JSON.stringify({ ...report, lost: report.lost.slice(0, 20), lostByServer: report.lostByServer.length }, null, 2)
)
const isFlawless = report.lost.length + report.outOfOrder.length + report.webhooks.lost + report.drops.length === 0
process.exitCode = isFlawless ? 0 : 1
