import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { withSettings } from "#scripts/Environment.ts"
import { freePort } from "#scripts/FreePort.ts"
import { startService } from "#scripts/ServiceProcess.ts"
import { renderOpml, type World } from "./World.ts"

const token = "import-trial-token-0123456789"

/** Time between two looks at a condition, in ms. */
const lookMs = 50

/** Time after which a condition has failed, in ms. */
const patienceMs = 300_000

export type Source = "opml" | "superfeedr"

export interface Figures {
  /** Of the last, uninterrupted run. */
  readonly seconds: number
  readonly serviceCpuSeconds: number
  /** Output of all runs, without the kills' own error lines. */
  readonly output: string
  readonly subscriptions: number
  /** Lines that the last run refuses with a reason. */
  readonly refusals: number
  /** Feeds whose new entry arrived, and nothing else. */
  readonly rightFeeds: number
  /** Topics that got an entry from before the import, or the new one more than once. */
  readonly wrongTopics: ReadonlyArray<string>
}

/** A service that is killed and started again on the same port and data. */
class TrialService {
  readonly url: string
  #child: ChildProcess | undefined
  readonly #options: Parameters<typeof startService>[0]

  constructor(port: number, directory: string) {
    this.url = `http://127.0.0.1:${port}`
    this.#options = {
      port,
      dataDir: join(directory, "data"),
      logFile: join(directory, "log"),
      token,
      settings: { WINDHOVER_MIN_PERIOD: "60", WINDHOVER_UPSTREAM_HUBS: "false" }
    }
  }

  async start(): Promise<void> {
    this.#child = await startService(this.#options)
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null) return
    child.kill("SIGKILL")
    await once(child, "exit")
  }

  /** User and system time so far. */
  get cpuSeconds(): number {
    const fields = readFileSync(`/proc/${this.#child?.pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
    return (Number(fields[11]) + Number(fields[12])) / 100
  }

  async call(parameters: Record<string, string>): Promise<string> {
    const response = await fetch(this.url, {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`admin:${token}`).toString("base64")}` },
      body: new URLSearchParams(parameters)
    })
    return await response.text()
  }

  async count(): Promise<number> {
    const text = await this.call({ "hub.mode": "list", detailed: "true", by_page: "1" })
    return (JSON.parse(text) as { readonly meta: { readonly total: number } }).meta.total
  }
}

const until = async (condition: () => boolean | Promise<boolean>, what: string): Promise<void> => {
  for (let waited = 0; !(await condition()); waited += lookMs) {
    if (waited > patienceMs) throw new Error(`After ${patienceMs / 1000} s: ${what}.`)
    await sleep(lookMs)
  }
}

interface Run {
  readonly child: ChildProcess
  readonly ended: Promise<string>
}

const startImport = (service: TrialService, world: World, source: Source): Run => {
  const own = source === "opml"
    ? ["-", "--callback", world.callback]
    : ["superfeedr", "--url", world.url, "--login", "trial", "--token", "trial"]
  const child = spawn(join(import.meta.dirname, "../../bin/windhover"), ["import", ...own], {
    stdio: ["pipe", "pipe", "pipe"],
    env: withSettings({ WINDHOVER_URL: service.url, WINDHOVER_TOKEN: token })
  })
  child.stdin?.on("error", () => {}) // the command ends with its service
  let output = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => output += text)
  }
  return { child, ended: once(child, "close").then(() => output) }
}

/** Writes the list, and stops before the end for a run that is to be interrupted. */
const write = async ({ child }: Run, pieces: ReadonlyArray<string>, isWhole: boolean): Promise<void> => {
  for (const piece of pieces) {
    if (child.stdin?.write(piece) === false) await Promise.race([once(child.stdin, "drain"), once(child, "close")])
  }
  if (isWhole) child.stdin?.end()
}

/** Kills the service in the middle of an import, at `share` of the list. Returns the output of the command. */
const interrupt = async (service: TrialService, world: World, source: Source, share: number): Promise<string> => {
  const wanted = Math.floor(world.listed.length * share)
  if (source === "superfeedr") {
    const kill = service.kill.bind(service)
    world.onPage = async (page) => {
      if (await service.count().catch(() => Infinity) >= wanted && page > 1) await kill()
    }
    const run = startImport(service, world, source)
    const output = await run.ended
    world.onPage = async () => {}
    return output
  }
  const pieces = renderOpml(world.listed)
  const run = startImport(service, world, source)
  await write(run, pieces.slice(0, Math.floor(pieces.length * (share + 0.25))), false)
  await until(async () => await service.count() >= wanted, "the import does not go on")
  await service.kill()
  return await run.ended
}

/**
 * Imports a list, kills the service twice in between, and completes the list. Then each feed publishes an entry.
 *
 * The figures tell whether the account is complete, and whether the receiver got exactly the new entries.
 */
export const runTrial = async (
  { directory, kills, source, world }: {
    readonly directory: string
    readonly kills: ReadonlyArray<number>
    readonly source: Source
    readonly world: World
  }
): Promise<Figures> => {
  const service = new TrialService(await freePort(), directory)
  try {
    await service.start()
    let output = ""
    for (const share of kills) {
      output += await interrupt(service, world, source, share)
      await service.start()
    }
    const cpuBefore = service.cpuSeconds
    const startedAt = performance.now()
    const run = startImport(service, world, source)
    if (source === "opml") await write(run, renderOpml(world.listed), true)
    const last = await run.ended
    output += last
    const refusals = last.match(/^line \d+: refused .+: .+$/gm)?.length ?? 0
    const seconds = (performance.now() - startedAt) / 1000
    const serviceCpuSeconds = service.cpuSeconds - cpuBefore
    const subscriptions = await service.count()
    await until(() => world.fetched.size === world.listed.length, "not every feed is fetched")
    await sleep(2_000) // the last fetches are recorded
    world.publish()
    for (let at = 0; at < world.listed.length; at += 500) {
      const urls = world.listed.slice(at, at + 500).map(({ topic }) => topic).join(",")
      await service.call({ "hub.mode": "publish", "hub.url": urls })
    }
    await until(() => world.received.size === world.listed.length, "not every new entry is delivered")
    await sleep(1_000) // whatever comes too much
    return { seconds, serviceCpuSeconds, output, subscriptions, refusals, ...judge(world) }
  } finally {
    await service.kill()
  }
}

const judge = ({ listed, received }: World): Pick<Figures, "rightFeeds" | "wrongTopics"> => {
  const isRight = (topic: string) => received.get(topic)?.join() === "new"
  return {
    rightFeeds: listed.filter(({ topic }) => isRight(topic)).length,
    wrongTopics: [...received.keys()].filter((topic) => !isRight(topic))
  }
}
