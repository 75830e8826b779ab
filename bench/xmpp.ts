/**
 * `bin/node bench/xmpp.ts`: notifications through Prosody, compared to a component that only writes stanzas; and memory of waiting
 * notifications.
 *
 * Writes a table into docs/performance.md. Needs Debian's Prosody (`npm run prosody -- --unpack`).
 */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { withSettings } from "#scripts/Environment.ts"
import { install } from "#scripts/prosody/Install.ts"
import { freePort } from "#scripts/FreePort.ts"
import { start as startProsody, stop as stopProsody } from "#scripts/prosody/Server.ts"
import { replaceSection } from "./Section.ts"
import { measureProcess } from "./ProcessUsage.ts"
import { node, outside, start, stopOrigin } from "./Service.ts"
import { openPeer } from "./xmpp-peer.ts"

const run = promisify(execFile)
const root = join(import.meta.dirname, "..")
const receiver = "receiver.localhost"
const component = "push.localhost"
const secret = "a secret of the benchmark"
const [clientPort, componentPort] = [await freePort(), await freePort()]
const directory = mkdtempSync(join(tmpdir(), "windhover-bench-xmpp-"))

const prosody = await startProsody(await install(join(root, "data/prosody")), {
  directory,
  clientPort,
  componentPort,
  domain: "localhost",
  component,
  secret,
  authentication: {},
  more: `Component "${receiver}"\n  component_secret = "theirs"`
})
const peer = await openPeer(componentPort, receiver, "theirs")

const spawnSender = (kind: string, count: number) =>
  spawn(node, [
    "--expose-gc",
    "--max-semi-space-size=32",
    join(root, "bench/xmpp-sender.ts"),
    kind,
    String(componentPort),
    receiver,
    String(count)
  ], { stdio: ["ignore", "pipe", "inherit", "ipc"] })

const readResult = async <A>(child: ReturnType<typeof spawnSender>): Promise<A> => {
  let output = ""
  for await (const text of child.stdout?.setEncoding("utf8") ?? []) output += String(text)
  return JSON.parse(output) as A
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const count = 10_000

/** Notifications per second, and µs of CPU per notification in the sending process. */
const measureRate = async (kind: string) => {
  const { cpu, wall } = await readResult<{ readonly cpu: number; readonly wall: number }>(spawnSender(kind, count))
  return { rate: count / wall, micros: cpu / count * 1e6 }
}

const rows: Array<string> = []
const report = (...cells: ReadonlyArray<string>): void => {
  rows.push(`| ${cells.join(" | ")} |`)
  process.stdout.write(`${cells.join("  ")}\n`)
}

const perSecond = (value: number): string => `${value.toFixed(0)} /s`

const measureRates = async (): Promise<number> => {
  const [bare, windhover]: [
    Array<Awaited<ReturnType<typeof measureRate>>>,
    Array<Awaited<ReturnType<typeof measureRate>>>
  ] = [[], []]
  for (let round = 0; round < 3; round++) {
    bare.push(await measureRate("bare"))
    windhover.push(await measureRate("component"))
  }
  const ratio = median(windhover.map((one, i) => one.rate / (bare[i]?.rate ?? Number.NaN)))
  const floor = median(bare.map(({ rate }) => rate))
  report(
    `${count.toLocaleString("en")} notifications of one entry, Windhover's component alone`,
    perSecond(median(windhover.map(({ rate }) => rate))),
    perSecond(floor),
    ratio.toFixed(2),
    "≥ 0.6"
  )
  report(
    "CPU of the sending process, for each",
    `${median(windhover.map(({ micros }) => micros)).toFixed(0)} µs`,
    `${median(bare.map(({ micros }) => micros)).toFixed(0)} µs`,
    "",
    ""
  )
  return floor
}

const subscribers = 1_000

/** The whole service: one feed, a thousand JIDs of one account. After an entry and a ping, each JID gets its message. */
const measureService = async (floor: number) => {
  const data = mkdtempSync(join(tmpdir(), "windhover-bench-"))
  const service = await start(3600, data, {
    WINDHOVER_XMPP_COMPONENT: component,
    WINDHOVER_XMPP_DOMAIN: "localhost",
    WINDHOVER_XMPP_SECRET: secret,
    WINDHOVER_XMPP_PORT: String(componentPort)
  })
  await run(join(root, "bin/windhover"), ["account", "set", "admin", "--jid", receiver], {
    env: withSettings({ WINDHOVER_DATA_DIR: data })
  })
  const topic = `${outside}/304/0`
  for (let i = 0; i < subscribers; i++) {
    const before = peer.received.iqs
    await peer.write(
      `<iq type="set" id="s${i}" from="${receiver}" to="${component}"><pubsub xmlns="http://jabber.org/protocol/pubsub">` +
        `<subscribe node="${topic}" jid="u${i}@${receiver}"/></pubsub></iq>`
    )
    while (peer.received.iqs === before) await sleep(1)
  }
  await sleep(3_000)
  const publish = async () => {
    const wanted = peer.received.messages + subscribers
    const before = measureProcess(service.pid).cpu
    const began = performance.now()
    await fetch(`${outside}/ctl/publish`)
    await service.call({ "hub.mode": "publish", "hub.url": topic })
    while (peer.received.messages < wanted) await sleep(5)
    const wall = (performance.now() - began) / 1000
    await sleep(1_500) // pings of one resource are answered once per second
    return { rate: subscribers / wall, micros: (measureProcess(service.pid).cpu - before) / subscribers * 1e6 }
  }
  for (let round = 0; round < 4; round++) await publish()
  const rounds = []
  for (let round = 0; round < 8; round++) rounds.push(await publish())
  const ours = median(rounds.map(({ rate }) => rate))
  report(
    `an entry to ${subscribers.toLocaleString("en")} subscribers, the whole service: from the ping to the last message`,
    `${perSecond(ours)}, ${median(rounds.map(({ micros }) => micros)).toFixed(0)} µs CPU each`,
    perSecond(floor),
    (ours / floor).toFixed(2),
    ""
  )
  await service.stop()
}

const measureWaiting = async () => {
  const child = spawnSender("queue", count)
  const result = readResult<{ readonly bytes: number; readonly stanza: number }>(child)
  await once(child, "message")
  prosody.kill("SIGSTOP")
  child.send("stopped")
  await once(child, "message")
  prosody.kill("SIGCONT")
  const { bytes, stanza } = await result
  report(
    `memory of ${count.toLocaleString("en")} notifications waiting for the server, ${
      (stanza / 1000).toFixed(1)
    } kB each`,
    `${(bytes / 1e6).toFixed(0)} MB, ${(bytes / count / 1000).toFixed(1)} kB each`,
    "",
    "",
    ""
  )
}

try {
  const floor = await measureRates()
  await measureWaiting()
  await measureService(floor)
  const file = join(root, "docs/performance.md")
  const body = [
    `\`bin/node bench/xmpp.ts\`, Node ${process.version}: from Windhover through Prosody 0.12 to another component, all on one machine.`,
    "Medians of three, each beside a bare component in the same round, which writes the same stanzas to its socket in a loop.",
    "",
    "| measurement | Windhover | bare component | ratio | target |",
    "| --- | --- | --- | --- | --- |",
    ...rows
  ].join("\n")
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "XMPP", body))
} finally {
  peer.close()
  await stopProsody(prosody)
  rmSync(directory, { recursive: true, force: true })
  stopOrigin()
}
