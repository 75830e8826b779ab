import { Effect, type Scope } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { DatabaseError } from "./DatabaseError.ts"
import { unpackTemplate } from "./embedded-postgres/Template.ts"

/**
 * Opens a data directory for this process alone, until the scope closes, and returns the directory of the database's cluster in it.
 *
 * Both are made when they are missing. Fails with `locked`, `unusable` or `full`.
 */
export const open = Effect.fn("DataDirectory.open")(
  function*(directory: string): Effect.fn.Return<string, DatabaseError, Scope.Scope> {
    yield* attempt(directory, () => fs.mkdirSync(directory, { recursive: true, mode: 0o700 }))
    const absolute = yield* attempt(directory, () => fs.realpathSync(directory))
    yield* attempt(directory, () => fs.accessSync(absolute, fs.constants.R_OK | fs.constants.W_OK | fs.constants.X_OK))
    yield* lock(absolute)
    const cluster = path.join(absolute, "database")
    if (!fs.existsSync(cluster)) {
      yield* Effect.tryPromise({
        try: () => unpackTemplate(cluster),
        catch: (cause) => explain(absolute, cause)
      })
    }
    yield* sameVersion(cluster)
    return cluster
  }
)

/** Major version of the PostgreSQL that PGlite is; a cluster of another one cannot be read. */
const major = "18"

const sameVersion = Effect.fnUntraced(function*(cluster: string) {
  const found = yield* attempt(cluster, () => fs.readFileSync(path.join(cluster, "PG_VERSION"), "utf8").trim())
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
        return holder
      },
      catch: (cause) => busy(cause) ? lockedError(directory) : explain(directory, cause)
    }),
    (holder) => Effect.sync(() => holder.close())
  )

const SQLITE_BUSY = 5

const busy = (cause: unknown): boolean => cause instanceof Error && "errcode" in cause && cause.errcode === SQLITE_BUSY

const lockedError = (directory: string) =>
  new DatabaseError({
    reason: "locked",
    message: `Another process is using the data directory ${directory}: probably a Windhover that is still running. `
      + "Stop it first, or give this one a directory of its own with WINDHOVER_DATA_DIR."
  })

const attempt = <A>(directory: string, run: () => A) =>
  Effect.try({ try: run, catch: (cause) => explain(directory, cause) })

const explain = (directory: string, cause: unknown): DatabaseError => {
  const text = cause instanceof Error ? cause.message : String(cause)
  return /ENOSPC|EDQUOT/.test(text)
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
