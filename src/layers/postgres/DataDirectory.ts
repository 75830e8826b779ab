import { Effect, type Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { DatabaseError } from "./DatabaseError.ts"

/**
 * Opens a data directory for this process alone, until the scope closes, and returns the directory of the database's cluster in it.
 *
 * The first is made when it is missing, the other by who starts the database. Fails with `locked`, `unusable` or `full`.
 */
export const open = Effect.fn("DataDirectory.open")(
  function*(directory: string): Effect.fn.Return<string, DatabaseError, Scope.Scope> {
    yield* attempt(directory, () => fs.mkdirSync(directory, { recursive: true, mode: 0o700 }))
    const absolute = yield* attempt(directory, () => fs.realpathSync(directory))
    yield* attempt(directory, () => fs.accessSync(absolute, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK))
    yield* lock(absolute)
    yield* signed(absolute)
    const cluster = path.join(absolute, "database")
    if (fs.existsSync(cluster)) yield* sameVersion(cluster)
    return cluster
  }
)

/** Major version of the PostgreSQL that PGlite is; a cluster of another one cannot be read. */
const major = "18"

const sameVersion = Effect.fnUntraced(function*(cluster: string) {
  const file = path.join(cluster, "PG_VERSION")
  if (!fs.existsSync(file)) {
    return yield* new DatabaseError({
      reason: "damaged",
      message: `${cluster} holds no database: its PG_VERSION is missing. Restore a backup of the directory, `
        + "or move it away to start with an empty one."
    })
  }
  const found = yield* attempt(cluster, () => fs.readFileSync(file, "utf8").trim())
  if (found === major) return
  return yield* new DatabaseError({
    reason: "damaged",
    message:
      `${cluster} was made by PostgreSQL ${found}; this Windhover embeds ${major}. Start the version of Windhover that made it.`
  })
})

/**
 * Two processes that write one cluster destroy it, and PGlite does not notice.
 *
 * Node has no flock. SQLite, which it has, takes locks of the kernel: they go with their process however it ends, and hold
 * between containers that share the directory. Nothing is ever written to the file.
 */
/** The locks of this process: the garbage collector closes a handle that only a waiting fiber knows of, and so gives its lock away. */
const held = new Set<DatabaseSync>()

const lock = (directory: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const holder = new DatabaseSync(path.join(directory, "lock"), { timeout: 0 })
        try {
          holder.exec("begin exclusive")
        } catch (error) {
          holder.close()
          throw error
        }
        held.add(holder)
        return holder
      },
      catch: (cause) => busy(cause) ? lockedError(directory) : explain(directory, cause)
    }),
    (holder) =>
      Effect.sync(() => {
        held.delete(holder)
        holder.close()
      })
  )

const SQLITE_BUSY = 5

const busy = (cause: unknown): boolean => cause instanceof Error && "errcode" in cause && cause.errcode === SQLITE_BUSY

/** Who holds a directory, for the one that is refused. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** When its process started, ISO 8601. */
  readonly since: string
}

const holderFile = (directory: string) => path.join(directory, "holder")

/**
 * Leaves word of who has the lock, until the scope closes.
 *
 * It is a hint beside the lock and decides nothing: a process that is killed leaves its word, and the next one that gets the lock replaces it.
 * Where the disk has no room even for that, or cannot be written any more, neither the start nor the end depends on it.
 */
const signed = (directory: string) =>
  Effect.acquireRelease(
    Effect.ignore(attempt(directory, () => {
      const since = new Date(performance.timeOrigin).toISOString().replace(/\.\d+/, "")
      const holder: Holder = { pid: process.pid, host: os.hostname(), since }
      fs.rmSync(holderFile(directory), { force: true })
      fs.writeFileSync(holderFile(directory), `${JSON.stringify(holder)}\n`, { mode: 0o600 })
    })),
    () => Effect.ignore(attempt(directory, () => fs.rmSync(holderFile(directory), { force: true })))
  )

/** Undefined when there is no word of the present holder: it has only just got the lock, or the word is of one that was killed. */
const holderOf = (directory: string): Holder | undefined => {
  try {
    const { host, pid, since } = JSON.parse(fs.readFileSync(holderFile(directory), "utf8"))
    if (!Number.isSafeInteger(pid) || typeof host !== "string" || typeof since !== "string") return undefined
    return host === os.hostname() && !runs(pid) ? undefined : { pid, host, since }
  } catch {
    return undefined
  }
}

/** Whether there is a process of this id on this machine, whoever's. */
const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const lockedError = (directory: string) => {
  const holder = holderOf(directory)
  return new DatabaseError({
    reason: "locked",
    message:
      `Another process is using the data directory ${directory}: ${
        holder === undefined ? "probably a Windhover that is still running" : described(holder)
      }. Stop it first${holder === undefined ? "" : stopping(holder)}, `
      + "or give this one a directory of its own with WINDHOVER_DATA_DIR."
  })
}

const described = ({ host, pid, since }: Holder): string =>
  `process ${pid} on ${JSON.stringify(host)}, running since ${since}`

/** In another container, or on another machine that shares the directory, the number names another process. */
const stopping = ({ host, pid }: Holder): string =>
  host === os.hostname() ? ` (kill ${pid}; it ends within seconds)` : ""

const attempt = <A>(directory: string, run: () => A) =>
  Effect.try({ try: run, catch: (cause) => explain(directory, cause) })

/** Why a directory could not be used, by the error of the file system. */
export const explain = (directory: string, cause: unknown): DatabaseError => {
  const text = (cause instanceof Error ? cause.message : String(cause)).replace(/^Error: /, "")
  return /ENOSPC|EDQUOT|No space left/.test(text)
    ? new DatabaseError({
      reason: "full",
      message:
        `There is no space left for the data directory ${directory} (${text}). Make room, or set WINDHOVER_DATA_DIR to another disk.`,
      cause
    })
    : new DatabaseError({
      reason: "unusable",
      message: `The data directory ${directory} cannot be used (${text}). `
        + "Windhover needs to create and write files in it; correct its permissions, or set WINDHOVER_DATA_DIR to another one.",
      cause
    })
}
