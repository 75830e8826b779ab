import { createHash, randomUUID } from "node:crypto"
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import type { Store, SubscriptionState } from "./Store.ts"

/** Keeps the state of each subscription in a file of `directory`, of the `maxSubscriptions` latest subscriptions. For one process. */
export class FileStore implements Store {
  private readonly directory: string
  private readonly maxSubscriptions: number
  private known: Promise<Set<string>> | undefined

  constructor(directory: string, { maxSubscriptions = 10_000 }: { readonly maxSubscriptions?: number } = {}) {
    this.directory = directory
    this.maxSubscriptions = maxSubscriptions
  }

  async load(key: string): Promise<SubscriptionState | undefined> {
    const file = join(this.directory, nameOf(key))
    let text: string
    try {
      text = await readFile(file, "utf8")
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
    try {
      return readState(JSON.parse(text))
    } catch {
      throw new Error(`${file} is damaged. Remove the file to start the subscription's numbers anew.`)
    }
  }

  async save(key: string, state: SubscriptionState): Promise<void> {
    const name = nameOf(key)
    const names = await (this.known ??= this.list())
    const file = join(this.directory, name)
    const temporary = `${file}.${randomUUID()}.tmp`
    const handle = await open(temporary, "wx", 0o600)
    try {
      await handle.writeFile(JSON.stringify(state))
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
    names.add(name)
    if (names.size > this.maxSubscriptions) await this.removeOldest(names)
  }

  /** Names of the stored states. Removes what a killed process left half-written. */
  private async list(): Promise<Set<string>> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 })
    const names = await readdir(this.directory)
    for (const name of names) {
      if (temporaryPattern.test(name)) await rm(join(this.directory, name), { force: true })
    }
    return new Set(names.filter((name) => statePattern.test(name)))
  }

  /** Removes a tenth at a time, because each look at all files takes long. */
  private async removeOldest(names: Set<string>): Promise<void> {
    const aged = await Promise.all([...names].map(async (name) => ({
      name,
      at: (await stat(join(this.directory, name))).mtimeMs
    })))
    aged.sort((a, b) => a.at - b.at)
    for (const { name } of aged.slice(0, Math.ceil(this.maxSubscriptions / 10))) {
      await rm(join(this.directory, name), { force: true })
      names.delete(name)
    }
  }
}

const statePattern = /^[0-9a-f]{64}\.json$/
const temporaryPattern = /^[0-9a-f]{64}\.json\.[0-9a-f-]{36}\.tmp$/

/** A topic can be longer than the name of a file, and has slashes. */
const nameOf = (key: string): string => `${createHash("sha256").update(key).digest("hex")}.json`

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ENOENT"

const readState = (value: unknown): SubscriptionState => {
  const state = value as Partial<SubscriptionState> | null
  const isValid = typeof state?.last === "number" && ["undefined", "string"].includes(typeof state.first) &&
    Array.isArray(state.recent) &&
    state.recent.every((pair: unknown) =>
      Array.isArray(pair) && typeof pair[0] === "string" && (pair[1] === null || typeof pair[1] === "number")
    )
  if (!isValid) throw new TypeError("no state of a subscription")
  return state as SubscriptionState
}
