import { Effect, type Scope } from "effect"
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { type BackupError, backupError, explainFile } from "./BackupError.ts"
import { encodeFrame, encodePage, firstLine, type FrameKind, type Header, type Page } from "./BackupFormat.ts"

/** Takes the bytes of a backup in order. */
interface Sink {
  readonly write: (bytes: Uint8Array) => Promise<void>
  /** Makes the bytes durable. A backup without this call never appears under its name. */
  readonly complete: () => Promise<void>
}

/** Writes one backup: a header, pages, the end. */
export interface BackupWriter {
  readonly header: (header: Header) => Effect.Effect<void, BackupError>
  readonly page: (page: Page) => Effect.Effect<void, BackupError>
  /** Completes the file and returns its bytes. */
  readonly end: Effect.Effect<number, BackupError>
}

/**
 * Opens a writer on a new file, or on standard output for `-`.
 *
 * The file grows beside its name with mode 600, and takes the name when it is complete and on the disk. An existing name, be it of a file or a
 * symbolic link, is refused at the start, and not replaced at the end.
 */
export const open = Effect.fn("BackupWriter.open")(
  function*(file: string): Effect.fn.Return<BackupWriter, BackupError, Scope.Scope> {
    return yield* makeWriter(file, file === "-" ? yield* openStandardOutput : yield* openFile(file))
  }
)

const makeWriter = (file: string, sink: Sink) =>
  Effect.sync((): BackupWriter => {
    const whole = createHash("sha256")
    let position = 0
    let bytes = 0
    let rows = 0
    const attempt = <A>(run: () => Promise<A>) =>
      Effect.tryPromise({ try: run, catch: (cause) => explainFile(file, cause) })
    const put = async (part: Uint8Array) => {
      whole.update(part)
      bytes += part.length
      await sink.write(part)
    }
    const putFrame = async (kind: FrameKind, content: Uint8Array) => put(await encodeFrame(kind, position++, content))
    return {
      header: (header) =>
        attempt(async () => {
          await put(firstLine)
          await putFrame("header", Buffer.from(JSON.stringify(header)))
        }),
      page: (page) =>
        attempt(() => {
          rows += page.rows.length
          return putFrame("page", encodePage(page))
        }),
      end: attempt(async () => {
        const end = { pages: position - 1, rows, sha256: whole.copy().digest("hex") }
        await putFrame("end", Buffer.from(JSON.stringify(end)))
        await sink.complete()
        return bytes
      })
    }
  })

const openFile = Effect.fnUntraced(function*(file: string) {
  yield* refuseExisting(file)
  const draft = `${file}.${randomBytes(6).toString("hex")}.partial`
  // "wx" refuses an existing draft and follows no symbolic link.
  const handle = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: () => fs.promises.open(draft, "wx", 0o600),
      catch: (cause) => explainFile(file, cause)
    }),
    (handle) =>
      Effect.promise(() => handle.close().then(() => fs.promises.rm(draft, { force: true })).catch(() => undefined))
  )
  return {
    write: async (bytes) => void await handle.writeFile(bytes),
    complete: async () => {
      await handle.sync()
      await takeName(draft, file)
      await syncDirectory(path.dirname(path.resolve(file)))
    }
  } satisfies Sink
})

const existsError = (file: string) =>
  backupError(
    "Exists",
    `${file} exists already. Name a new file; a backup replaces no file and follows no symbolic link.`
  )

const refuseExisting = (file: string) =>
  Effect.suspend(() =>
    fs.lstatSync(file, { throwIfNoEntry: false }) === undefined ? Effect.void : Effect.fail(existsError(file))
  ).pipe(Effect.catchDefect((cause) => Effect.fail(explainFile(file, cause))))

/** Gives the draft its name. A hard link fails when the name has been taken meanwhile; file systems without links get a rename. */
const takeName = async (draft: string, file: string): Promise<void> => {
  try {
    await fs.promises.link(draft, file)
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined
    if (code === "EEXIST" || fs.lstatSync(file, { throwIfNoEntry: false }) !== undefined) throw error
    await fs.promises.rename(draft, file)
  }
}

const syncDirectory = async (directory: string): Promise<void> => {
  const handle = await fs.promises.open(directory, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const openStandardOutput = Effect.suspend(() =>
  process.stdout.isTTY
    ? Effect.fail(backupError("Unusable", "A backup is no text for a terminal. Name a file, or redirect the output."))
    : Effect.succeed<Sink>({
      write: (bytes) =>
        new Promise((resolve, reject) => {
          process.stdout.write(bytes, (error) => error ? reject(error) : resolve())
        }),
      complete: () => Promise.resolve()
    })
)
