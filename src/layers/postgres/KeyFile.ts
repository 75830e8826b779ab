import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { InvalidSetting, parseEncryptionKey } from "#domain/Setting.ts"
import { explain } from "./DataDirectory.ts"
import { type DatabaseError, databaseError } from "./DatabaseError.ts"
import { syncDirectory } from "./SyncDirectory.ts"

/** The file of the encryption key in a data directory. */
export const pathIn = (dataDir: string): string => path.join(dataDir, "encryption-key")

/** Bytes of the file that are read; a key has fewer. */
const maxBytes = 1_000

/** The key of the file; undefined without a file. Warns when other users can read the file. */
export const read = Effect.fn("KeyFile.read")(
  function*(dataDir: string): Effect.fn.Return<Uint8Array | undefined, DatabaseError> {
    const file = pathIn(dataDir)
    if (!fs.existsSync(file)) return undefined
    const { mode, text } = yield* attempt(dataDir, () => readStart(file))
    const key = parseEncryptionKey(text.trim())
    if (key instanceof InvalidSetting) {
      return yield* databaseError(
        "Key",
        `${file} is damaged: it holds no key of 32 bytes in Base64. Restore the file from a backup.`
      )
    }
    if ((mode & 0o077) !== 0) {
      yield* Effect.logWarning("Other users of this machine can read the encryption key; chmod 600 the file.").pipe(
        Effect.annotateLogs({ file })
      )
    }
    return key
  }
)

const readStart = (file: string) => {
  const descriptor = fs.openSync(file, "r")
  try {
    const buffer = Buffer.alloc(maxBytes)
    const length = fs.readSync(descriptor, buffer)
    return { mode: fs.fstatSync(descriptor).mode, text: buffer.toString("latin1", 0, length) }
  } finally {
    fs.closeSync(descriptor)
  }
}

/** Makes a file with a random key, or returns the key of a file that another process has just made. */
export const create = Effect.fn("KeyFile.create")(
  function*(dataDir: string): Effect.fn.Return<Uint8Array, DatabaseError> {
    const file = pathIn(dataDir)
    const isNew = yield* attempt(dataDir, () => {
      fs.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
      return write(file, `${randomBytes(32).toString("base64")}\n`)
    })
    if (isNew) {
      yield* Effect.logInfo("Made the encryption key of stored secrets. Back it up together with the database.").pipe(
        Effect.annotateLogs({ file })
      )
    }
    const key = yield* read(dataDir)
    return key ?? (yield* databaseError("Unusable", `${file} was made and is not there.`))
  }
)

/** Copies the file of one data directory to another, unless the first has none or the second has one already. */
export const copy = Effect.fn("KeyFile.copy")(function*(from: string, to: string) {
  if (!fs.existsSync(pathIn(from))) return
  const { text } = yield* attempt(from, () => readStart(pathIn(from)))
  yield* attempt(to, () => write(pathIn(to), text))
})

/** Writes a complete file that survives a power failure, before the database has secrets under its key. False when the file exists. */
const write = (file: string, content: string): boolean => {
  const draft = `${file}.${randomBytes(8).toString("hex")}`
  fs.writeFileSync(draft, content, { mode: 0o600, flush: true })
  try {
    fs.linkSync(draft, file)
    syncDirectory(path.dirname(file))
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
    throw error
  } finally {
    fs.rmSync(draft)
  }
}

const attempt = <A>(dataDir: string, run: () => A) =>
  Effect.try({ try: run, catch: (cause) => explain(dataDir, cause) })
