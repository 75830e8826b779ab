import { Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as path from "node:path"
import * as DataDirectory from "#layers/postgres/DataDirectory.ts"
import type { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import { draftLogName } from "#layers/postgres/embedded/NextLogFile.ts"
import { type BackupError, backupError, explainFile } from "./BackupError.ts"
import { explainSource } from "./Dump.ts"

/** Directory, within the data directory, of the copy that a backup reads. */
const cloneName = "clone"

/** Room that stays free beside a copy. */
const reserveBytes = 64 * 1024 * 1024

const maxAttempts = 3

/**
 * Copies the cluster of a running service, and returns the copy's directory, until the scope closes.
 *
 * The service pauses for one checkpoint only. The copy shows pages of different moments, as after a crash: PostgreSQL makes them one state
 * from the write-ahead log, which begins at the checkpoint and is copied last. No other checkpoint may happen meanwhile, so the service holds
 * its own back while a client is connected to its socket. `SqlClient` is this client.
 */
export const make = Effect.fn("Clone.make")(
  function*(
    dataDir: string
  ): Effect.fn.Return<string, BackupError | DatabaseError, Scope.Scope | SqlClient.SqlClient> {
    const sql = yield* SqlClient.SqlClient
    const source = path.resolve(dataDir, "database")
    const target = yield* openDirectory(path.resolve(dataDir, cloneName))
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      yield* sql`checkpoint`.pipe(Effect.mapError(explainSource))
      const isWhole = yield* Effect.tryPromise({
        try: (signal) => copyCluster(source, target, signal),
        catch: (cause) => explainFile(target, cause)
      })
      if (isWhole) return target
    }
    return yield* backupError(
      "Changed",
      "The service made checkpoints while its files were copied. Try again, or stop the service for the backup."
    )
  }
)

/** Locks the directory of the copy against a second backup, and removes the copy at the end, or one that a killed backup has left. */
const openDirectory = Effect.fnUntraced(function*(directory: string) {
  const target = yield* DataDirectory.open(directory).pipe(
    Effect.mapError((error) =>
      error.reason._tag === "Locked"
        ? backupError(
          "Running",
          `Another backup of this data directory is running: ${directory} is in use. Wait for its end.`
        )
        : error
    )
  )
  const remove = Effect.promise(() => fs.promises.rm(target, { recursive: true, force: true }))
  yield* Effect.acquireRelease(remove, () => remove)
  return target
})

/** Returns false when a checkpoint happened meanwhile. */
const copyCluster = async (source: string, target: string, signal: AbortSignal): Promise<boolean> => {
  await fs.promises.rm(target, { recursive: true, force: true })
  await requireRoom(source, path.dirname(target))
  const control = await readControl(source)
  await copyDirectory(
    source,
    target,
    signal,
    (name) => name !== logDirectory && name !== controlFile && name !== "postmaster.pid"
  )
  await fs.promises.writeFile(path.join(target, controlFile), control, { mode: 0o600 })
  await copyDirectory(path.join(source, logDirectory), path.join(target, logDirectory), signal, isLogFile)
  return control.equals(await readControl(source))
}

/** The directory of the write-ahead log. */
const logDirectory = "pg_wal"

/** False for up to 144 MB of files that later log will fill. PostgreSQL ignores them until they have their name. */
const isLogFile = (name: string): boolean => !name.startsWith(draftLogName)

/** The file that names the last checkpoint. */
const controlFile = path.join("global", "pg_control")

/** Reads the file until two readings agree, because a checkpoint may be writing it. */
const readControl = async (source: string): Promise<Buffer> => {
  const file = path.join(source, controlFile)
  for (let last = await fs.promises.readFile(file);;) {
    const next = await fs.promises.readFile(file)
    if (next.equals(last)) return next
    last = next
  }
}

const requireRoom = async (source: string, place: string): Promise<void> => {
  const needed = reserveBytes + await measure(source)
  const { bavail, bsize } = await fs.promises.statfs(place)
  if (bavail * bsize >= needed) return
  throw new Error(
    `No space left for a copy of the database: ${Math.ceil(needed / 2 ** 20)} MB are needed, and ${
      Math.floor(bavail * bsize / 2 ** 20)
    } MB are free`
  )
}

/** Bytes of all files below a directory that are copied. Files that vanish meanwhile count as empty. */
const measure = async (directory: string): Promise<number> => {
  const files = await fs.promises.readdir(directory, { recursive: true, withFileTypes: true })
  let bytes = 0
  for (const file of files) {
    if (file.isFile() && isLogFile(file.name)) {
      bytes += (await fs.promises.stat(path.join(file.parentPath, file.name)).catch(() => undefined))?.size ?? 0
    }
  }
  return bytes
}

/** Copies files and directories. A file that vanishes meanwhile is left out: the write-ahead log knows of its removal. */
const copyDirectory = async (
  source: string,
  target: string,
  signal: AbortSignal,
  isWanted: (name: string) => boolean = () => true,
  prefix = ""
): Promise<void> => {
  await fs.promises.mkdir(path.join(target, prefix), { recursive: true, mode: 0o700 })
  for (const file of await fs.promises.readdir(path.join(source, prefix), { withFileTypes: true })) {
    const name = path.join(prefix, file.name)
    if (!isWanted(name)) continue
    signal.throwIfAborted()
    if (file.isDirectory()) await copyDirectory(source, target, signal, isWanted, name)
    else if (file.isFile()) await copyFile(path.join(source, name), path.join(target, name))
  }
}

const copyFile = async (source: string, target: string): Promise<void> => {
  try {
    await fs.promises.copyFile(source, target, fs.constants.COPYFILE_FICLONE)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error
  }
}
