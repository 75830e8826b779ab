import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { withSettings } from "#scripts/Environment.ts"
import { freePort } from "#scripts/FreePort.ts"
import type { Installed } from "#scripts/prosody/Install.ts"
import { start as startProsody, stop as stopProsody } from "#scripts/prosody/Server.ts"
import { Client, type Habit } from "./Clients.ts"
import { Ledger } from "./Ledger.ts"
import { Proxy } from "./Proxy.ts"

const bin = join(import.meta.dirname, "../../bin/windhover")
const [domain, component, secret, token] = ["xmpp.test", "push.xmpp.test", "a secret", "trial-token-0123456789"]
const password = "a password"
const habits: ReadonlyArray<Habit> = ["stays", "comes-and-goes", "absent"]

/** Number of addresses of loopback, and so of hosts and partitions, that the feeds use. */
const hostCount = 16

export interface Options {
  readonly prosody: Installed
  /** URL of an empty database of a PostgreSQL server. */
  readonly database: string
  readonly feeds: number
  readonly clientsOfEachHabit: number
  /** Time with publications and faults, in ms. */
  readonly durationMs: number
  /** Mean time between two publications of all feeds, in ms. */
  readonly publicationMs: number
  /** Time after the last fault in which the rest has to arrive, in ms. */
  readonly drainMs: number
  /** What the server does with a second connection: `kick_new` rejects it, `kick_old` closes the first one. */
  readonly conflict: "kick_new" | "kick_old"
  readonly seed: number
  readonly log: (line: string) => void
}

/** A runner of the cluster, its network and its process. */
interface Runner {
  readonly proxy: Proxy
  readonly port: number
  readonly start: () => Promise<void>
  child: ChildProcess | undefined
}

/** Feeds, and the webhooks that are the control of the trial. */
interface Web {
  readonly server: Server
  readonly port: number
  readonly entries: ReadonlyArray<Array<string>>
  /** Number of fetches of each feed. */
  readonly fetches: Array<number>
  /** Entries of each webhook, in the order of their first arrival. */
  readonly posted: ReadonlyArray<Set<string>>
}

export interface Trial {
  readonly options: Options
  readonly ledger: Ledger
  readonly runners: readonly [Runner, Runner]
  readonly server: {
    readonly child: () => ChildProcess
    readonly kill: () => Promise<void>
    readonly start: () => Promise<void>
  }
  /** The runner with the connection; undefined while there is none, or two. */
  readonly owner: () => Runner | undefined
  readonly random: () => number
  /** Publishes an entry of a feed, and pings a runner. */
  readonly publish: (feed: number) => Promise<void>
  /** Waits until the server has confirmed all entries; returns the time in ms, or undefined after `drainMs`. */
  readonly drain: () => Promise<number | undefined>
  readonly audit: () => Report
}

/** Counts of entries for JIDs, unless another unit is named. */
export interface Report {
  readonly expected: number
  readonly written: number
  readonly confirmed: number
  readonly received: number
  /** Entries that the server has not confirmed: lost by Windhover. */
  readonly lost: ReadonlyArray<string>
  /** Entries that the server has confirmed, and no client has received: lost behind the server's socket. */
  readonly lostByServer: ReadonlyArray<string>
  /** Confirmed for the first time after a later entry of the same feed. */
  readonly outOfOrder: ReadonlyArray<string>
  /** Messages beyond the first one of an entry. */
  readonly repeated: number
  readonly webhooks: { readonly expected: number; readonly lost: number; readonly outOfOrder: number }
  /** Lines of the runners about dropped notifications. */
  readonly drops: ReadonlyArray<string>
}

/** Mulberry32: the same faults for the same seed. */
const makeRandom = (seed: number) => () => {
  seed = seed + 0x6d2b79f5 | 0
  let mixed = Math.imul(seed ^ seed >>> 15, seed | 1)
  mixed ^= mixed + Math.imul(mixed ^ mixed >>> 7, mixed | 61)
  return ((mixed ^ mixed >>> 14) >>> 0) / 2 ** 32
}

const openWeb = async (feeds: number): Promise<Web> => {
  const entries = Array.from({ length: feeds }, (_, feed) => [`${feed}-first`])
  const fetches = entries.map(() => 0)
  const posted = entries.map(() => new Set<string>())
  const server = createServer((request, response) => {
    const feed = Number(/\/(\d+)$/.exec(request.url ?? "")?.[1])
    if (request.method === "GET") {
      fetches[feed]!++
      return void response.end(
        `<rss version="2.0"><channel><title>Feed ${feed}</title>${
          entries[feed]!.toReversed().map((id) =>
            `<item><title>${id}</title><guid isPermaLink="false">${id}</guid></item>`
          )
            .join("")
        }</channel></rss>`
      )
    }
    let body = ""
    request.setEncoding("utf8").on("data", (text: string) => body += text).on("end", () => {
      for (const [, id = ""] of [...body.matchAll(/<entry[^>]*>.*?<id>(.*?)<\/id>/gs)].toReversed()) {
        posted[feed]!.add(id)
      }
      response.end()
    })
  })
  const port = await freePort()
  await once(server.listen(port, "0.0.0.0"), "listening")
  return { server, port, entries, fetches, posted }
}

/** Starts a server, two runners, their networks and the clients; runs `work`; stops all of them. */
export const runTrial = async <A>(options: Options, work: (trial: Trial) => Promise<A>): Promise<A> => {
  const directory = mkdtempSync(join(tmpdir(), "windhover-xmpp-faults-"))
  const stops: Array<() => unknown> = [() => rmSync(directory, { recursive: true, force: true })]
  process.once(
    "SIGINT",
    () => void Promise.all(stops.toReversed().map((stop) => stop())).finally(() => process.exit(130))
  )
  try {
    const trial = await openTrial(options, directory, stops)
    return await work(trial)
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

const openTrial = async (options: Options, directory: string, stops: Array<() => unknown>): Promise<Trial> => {
  const { feeds, log } = options
  const ledger = new Ledger()
  const web = await openWeb(feeds)
  stops.push(() => (web.server.close(), web.server.closeAllConnections()))
  const logins = habits.flatMap((habit) =>
    Array.from({ length: options.clientsOfEachHabit }, (_, i) => ({ habit, login: `${habit.replaceAll("-", "")}${i}` }))
  )
  const [clientPort, componentPort] = [await freePort(), await freePort()]
  const start = () =>
    startProsody(options.prosody, {
      directory,
      clientPort,
      componentPort,
      domain,
      component,
      secret,
      authentication: Object.fromEntries(logins.map(({ login }) => [login, password])),
      more: `component_conflict_resolve = "${options.conflict}"`
    })
  let prosody = await start()
  stops.push(() => stopProsody(prosody, "SIGKILL"))
  const logFile = join(directory, "runners.log")
  const runners = [
    await openRunner(options, { componentPort, ledger, logFile, stops }),
    await openRunner(options, { componentPort, ledger, logFile, stops })
  ] as const
  await runners[0].start()
  const environment = withSettings({ WINDHOVER_DATABASE_URL: options.database })
  for (const { login } of logins) {
    await promisify(execFile)(bin, ["account", "create", login, "--password", password], { env: environment })
  }
  await runners[1].start()
  const clients = logins.map(({ habit, login }) =>
    new Client({ port: clientPort, domain, component, login, password, habit, ledger })
  )
  stops.push(() => Promise.all(clients.map((client) => client.stop())))
  const urlOf = (feed: number) => `http://127.0.0.${1 + feed % hostCount}:${web.port}/${feed}`
  const topicsOf = (client: Client) => {
    const number = clients.indexOf(client) % options.clientsOfEachHabit
    return web.entries.flatMap((_, feed) => feed % options.clientsOfEachHabit === number ? [feed] : [])
  }
  log(`${clients.length} clients subscribe to ${feeds} feeds`)
  await Promise.all(clients.map((client) => client.subscribe(topicsOf(client).map(urlOf))))
  for (let feed = 0; feed < feeds; feed++) {
    await call(runners, {
      "hub.mode": "subscribe",
      "hub.topic": urlOf(feed),
      "hub.callback": `http://127.0.0.1:${web.port}/hook/${feed}`
    })
  }
  while (web.fetches.some((count) => count === 0)) await sleep(200)
  await sleep(3_000) // the first entries are stored
  for (const client of clients) void client.run()

  const expected = () =>
    clients.flatMap((client) =>
      topicsOf(client).flatMap((feed) => web.entries[feed]!.slice(1).map((entry) => ({ jid: client.jid, feed, entry })))
    )
  const isConfirmed = ({ entry, jid }: { readonly jid: string; readonly entry: string }) =>
    ledger.confirmed.get(jid)?.has(entry) === true
  return {
    options,
    ledger,
    runners,
    random: makeRandom(options.seed),
    server: {
      child: () => prosody,
      kill: () => stopProsody(prosody, "SIGKILL"),
      start: async () => void (prosody = await start())
    },
    owner: () => {
      const connected = runners.filter(({ proxy }) => proxy.isConnected)
      return connected.length === 1 ? connected[0] : undefined
    },
    publish: async (feed) => {
      web.entries[feed]!.push(`${feed}-${web.entries[feed]!.length}`)
      await call(runners, { "hub.mode": "publish", "hub.url": urlOf(feed) }).catch(() => {})
    },
    drain: async () => {
      const began = performance.now()
      const hasAll = () =>
        expected().every(isConfirmed) && web.entries.every((ids, feed) => web.posted[feed]!.size >= ids.length - 1)
      while (!hasAll()) {
        if (performance.now() - began > options.drainMs) return undefined
        await sleep(500)
      }
      const took = performance.now() - began
      for (const client of clients) await client.comeOnline()
      const isReceived = () => expected().every(({ entry, jid }) => ledger.received.has(`${jid} ${entry}`))
      for (let i = 0; i < 20 && !isReceived(); i++) await sleep(500)
      return took
    },
    audit: () => audit(expected(), web, ledger, readFileSync(logFile, "utf8"))
  }
}

/** An entry that a JID has to get. */
interface Expected {
  readonly jid: string
  readonly entry: string
}

/** Entries of a feed that stand behind a later one. */
const findLate = (order: Iterable<string>, feed: number): ReadonlyArray<string> => {
  const ids = [...order].filter((id) => id.startsWith(`${feed}-`)).map((id) => Number(id.split("-")[1]))
  return ids.flatMap((id, i) => i > 0 && id < ids[i - 1]! ? [`${feed}-${id}`] : [])
}

const audit = (expected: ReadonlyArray<Expected>, web: Web, ledger: Ledger, runnerLog: string): Report => {
  const keyOf = ({ entry, jid }: Expected) => `${jid} ${entry}`
  const confirmed = expected.filter(({ entry, jid }) => ledger.confirmed.get(jid)?.has(entry) === true)
  const isConfirmed = new Set(confirmed.map(keyOf))
  const webhookExpected = web.entries.reduce((sum, ids) => sum + ids.length - 1, 0)
  return {
    expected: expected.length,
    written: ledger.written.size,
    confirmed: confirmed.length,
    received: expected.filter((one) => ledger.received.has(keyOf(one))).length,
    lost: expected.map(keyOf).filter((key) => !isConfirmed.has(key)),
    lostByServer: confirmed.map(keyOf).filter((key) => !ledger.received.has(key)),
    outOfOrder: [...ledger.confirmed.values()].flatMap((order) =>
      web.entries.flatMap((_, feed) => findLate(order, feed))
    ),
    repeated: [...ledger.written.values()].reduce((sum, count) => sum + count - 1, 0),
    webhooks: {
      expected: webhookExpected,
      lost: webhookExpected - web.posted.reduce((sum, ids) => sum + ids.size, 0),
      outOfOrder: web.posted.flatMap(findLate).length
    },
    drops: runnerLog.split("\n").filter((line) => /dropped|not sent/.test(line))
  }
}

/** Calls the first runner that answers. */
const call = async (runners: ReadonlyArray<Runner>, parameters: Readonly<Record<string, string>>): Promise<void> => {
  for (const { port } of runners) {
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` },
      body: new URLSearchParams(parameters),
      signal: AbortSignal.timeout(10_000)
    }).catch(() => undefined)
    if (response?.ok === true) return
    if (response !== undefined && response.status < 500) throw new Error(`${response.status} ${await response.text()}`)
  }
  throw new Error("no runner answers")
}

const openRunner = async (options: Options, { componentPort, ledger, logFile, stops }: {
  readonly componentPort: number
  readonly ledger: Ledger
  readonly logFile: string
  readonly stops: Array<() => unknown>
}): Promise<Runner> => {
  const [address, port] = [await freePort(), await freePort()]
  const proxy = new Proxy(await freePort(), componentPort, ledger)
  await proxy.listen()
  stops.push(() => proxy.close())
  const runner: Runner = {
    proxy,
    port,
    child: undefined,
    start: async () => {
      const output = openSync(logFile, "a")
      runner.child = spawn(bin, ["serve"], {
        stdio: ["ignore", output, output],
        env: withSettings({
          WINDHOVER_PORT: String(port),
          WINDHOVER_HOST: "127.0.0.1",
          WINDHOVER_ALLOW_PRIVATE: "true",
          WINDHOVER_MIN_PERIOD: "10",
          WINDHOVER_MAX_PERIOD: "10",
          WINDHOVER_ADMIN_TOKEN: token,
          WINDHOVER_DATABASE_URL: options.database,
          WINDHOVER_RUNNER_ADDRESS: `127.0.0.1:${address}`,
          WINDHOVER_XMPP_COMPONENT: component,
          WINDHOVER_XMPP_DOMAIN: domain,
          WINDHOVER_XMPP_SECRET: secret,
          WINDHOVER_XMPP_PORT: String(proxy.port)
        })
      })
      closeSync(output)
      const isReady = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ ok }) => ok, () => false)
      while (!await isReady()) {
        if (runner.child.exitCode !== null) {
          throw new Error(`A runner ended:\n${readFileSync(logFile, "utf8").slice(-3_000)}`)
        }
        await sleep(200)
      }
    }
  }
  stops.push(async () => {
    if (runner.child === undefined || runner.child.exitCode !== null || runner.child.signalCode !== null) return
    runner.child.kill("SIGKILL")
    await once(runner.child, "exit")
  })
  return runner
}
