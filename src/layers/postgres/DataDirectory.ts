import { Effect, Schema, type Scope } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type DatabaseError, databaseError } from "./DatabaseError.ts"

/**
 * Opens a data directory for this process alone, until the scope closes, and returns the directory of the cluster in it.
 *
 * Creates the data directory if it is missing, but not the cluster. Fails with `Locked`, `Unusable`, `Full` or `Damaged`.
 */
export const open = Effect.fn("DataDirectory.open")(
  function*(directory: string): Effect.fn.Return<string, DatabaseError, Scope.Scope> {
    yield* attempt(directory, () => fs.mkdirSync(directory, { recursive: true, mode: 0o700 }))
    const absolute = yield* attempt(directory, () => fs.realpathSync(directory))
    yield* attempt(directory, () => fs.accessSync(absolute, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK))
    yield* acquireLock(absolute)
    yield* writeHolder(absolute)
    const cluster = path.join(absolute, "database")
    if (fs.existsSync(cluster)) yield* checkVersion(cluster)
    return cluster
  }
)

/** Fails with `Missing` unless the directory holds a cluster. Creates nothing. */
export const requireCluster = Effect.fn("DataDirectory.requireCluster")(function*(directory: string) {
  const cluster = path.resolve(directory, "database")
  if (fs.existsSync(cluster)) return
  return yield* databaseError(
    "Missing",
    `There is no database in ${
      path.resolve(directory)
    }. Run the command where Windhover runs, or name its data directory in `
      + "WINDHOVER_DATA_DIR (WINDHOVER_DATABASE_URL for a PostgreSQL server). 'windhover init' creates a database."
  )
})

/** Major version of the PostgreSQL in PGlite. It cannot read a cluster of another version. */
const majorVersion = "18"

const checkVersion = Effect.fnUntraced(function*(cluster: string) {
  const file = path.join(cluster, "PG_VERSION")
  if (!fs.existsSync(file)) {
    return yield* databaseError(
      "Damaged",
      `${cluster} holds no database: its PG_VERSION is missing. Restore a backup of the directory, `
        + "or move it away to start with an empty one."
    )
  }
  const version = yield* attempt(cluster, () => fs.readFileSync(file, "utf8").trim())
  if (version === majorVersion) return
  return yield* databaseError(
    "Damaged",
    `${cluster} was made by PostgreSQL ${version}; this Windhover embeds ${majorVersion}, and changes nothing there. `
      + "Run 'windhover backup FILE' with the version of Windhover that made it, move this directory away, "
      + "and run 'windhover restore FILE' with this version."
  )
})

/** References to the locks of this process: the garbage collector closes an unreferenced handle, and so releases its lock. */
const heldLocks = new Set<DatabaseSync>()

/**
 * Locks the directory, because two processes that write one cluster destroy it, and PGlite does not notice.
 *
 * Node has no flock, but SQLite. SQLite takes locks of the kernel: these end with their process in any case,
 * and work between containers that share the directory. The file stays empty.
 */
const acquireLock = (directory: string) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const lock = new DatabaseSync(path.join(directory, "lock"), { timeout: 0 })
        try {
          lock.exec("begin exclusive")
        } catch (error) {
          lock.close()
          throw error
        }
        heldLocks.add(lock)
        return lock
      },
      catch: (cause) => isBusy(cause) ? lockedError(directory) : explain(directory, cause)
    }),
    (lock) =>
      Effect.sync(() => {
        heldLocks.delete(lock)
        lock.close()
      })
  )

const SQLITE_BUSY = 5

const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && cause.errcode === SQLITE_BUSY

/** The process that holds a directory, for the error message of another process. */
const Holder = Schema.Struct({
  pid: Schema.Int,
  host: Schema.String,
  /** Start of the process, ISO 8601. */
  since: Schema.String
})
type Holder = typeof Holder.Type

const decodeHolder = Schema.decodeSync(Schema.fromJsonString(Holder))

const holderFile = (directory: string) => path.join(directory, "holder")

/**
 * Writes the holder of the lock next to the lock, until the scope closes.
 *
 * The file is a hint, and decides nothing. A killed process leaves its file, and the next holder replaces it.
 * A failed write, for instance on a full disk, stops neither the start nor the end.
 */
const writeHolder = (directory: string) =>
  Effect.acquireRelease(
    Effect.ignore(attempt(directory, () => {
      const since = new Date(performance.timeOrigin).toISOString().replace(/\.\d+/, "")
      const holder: Holder = { pid: process.pid, host: os.hostname(), since }
      fs.rmSync(holderFile(directory), { force: true })
      fs.writeFileSync(holderFile(directory), `${JSON.stringify(holder)}\n`, { mode: 0o600 })
    })),
    () => Effect.ignore(attempt(directory, () => fs.rmSync(holderFile(directory), { force: true })))
  )

/** Undefined without a file of the present holder: it has just taken the lock, or the file belongs to a killed process. */
const readHolder = (directory: string): Holder | undefined => {
  try {
    const holder = decodeHolder(fs.readFileSync(holderFile(directory), "utf8"))
    return holder.host === os.hostname() && !isRunning(holder.pid) ? undefined : holder
  } catch {
    return undefined
  }
}

/** True for a process of any user on this machine. */
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const lockedError = (directory: string) => {
  const holder = readHolder(directory)
  const description = holder === undefined
    ? "probably a Windhover that is still running"
    : `process ${holder.pid} on ${JSON.stringify(holder.host)}, running since ${holder.since}`
  return databaseError(
    "Locked",
    `Another process is using the data directory ${directory}: ${description}. Stop it first${
      holder === undefined ? "" : howToStop(holder)
    }, or give this one a directory of its own with WINDHOVER_DATA_DIR.`
  )
}

/** Empty for another host: in another container or on another machine, the pid names a different process. */
const howToStop = ({ host, pid }: Holder): string =>
  host === os.hostname() ? ` (kill ${pid}; it ends within seconds)` : ""

const attempt = <A>(directory: string, run: () => A) =>
  Effect.try({ try: run, catch: (cause) => explain(directory, cause) })

/** The error for an operator, from an error of the file system. */
export const explain = (directory: string, cause: unknown): DatabaseError => {
  const text = (cause instanceof Error ? cause.message : String(cause)).replace(/^Error: /, "")
  return /ENOSPC|EDQUOT|No space left/.test(text)
    ? databaseError(
      "Full",
      `There is no space left for the data directory ${directory} (${text}). Make room, or set WINDHOVER_DATA_DIR to another disk.`,
      cause
    )
    : databaseError(
      "Unusable",
      `The data directory ${directory} cannot be used (${text}). `
        + "Windhover needs to create and write files in it; correct its permissions, or set WINDHOVER_DATA_DIR to another one.",
      cause
    )
}
