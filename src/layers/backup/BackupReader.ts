import { Effect, Option, Schema, type Scope } from "effect"
import { createHash, type Hash } from "node:crypto"
import * as fs from "node:fs"
import { type BackupError, backupError, explainFile } from "./BackupError.ts"
import {
  checkFirstLine,
  decodeContent,
  decodeHead,
  decodePage,
  End,
  firstLine,
  frameHeadBytes,
  type FrameKind,
  Header,
  type Page
} from "./BackupFormat.ts"

/** Reads one backup in order. Each page has passed its checksum. */
export interface BackupReader {
  readonly header: Header
  /** The next page; undefined after the end, which confirms all counts and the checksum of the whole file. */
  readonly next: Effect.Effect<Page | undefined, BackupError>
  /** Bytes read so far and bytes of the file, for a progress line. */
  readonly progress: () => { readonly read: number; readonly total: number }
}

/** Opens a backup, and reads its header. Fails with `Unusable`, `Foreign`, `Newer` or `Damaged`. */
export const open = Effect.fn("BackupReader.open")(
  function*(file: string): Effect.fn.Return<BackupReader, BackupError, Scope.Scope> {
    const attempt = <A>(run: () => Promise<A>) =>
      Effect.tryPromise({ try: run, catch: (cause) => explainFile(file, cause) })
    const handle = yield* Effect.acquireRelease(
      attempt(() => fs.promises.open(file, "r")),
      (handle) => Effect.promise(() => handle.close())
    )
    const stat = yield* attempt(() => handle.stat())
    if (!stat.isFile()) {
      return yield* backupError("Unusable", `${file} is no regular file. Write the backup to a file first.`)
    }
    const start = yield* attempt(() => readFully(handle, 0, Math.min(firstLine.length, stat.size)))
    const problem = checkFirstLine(file, start)
    if (problem !== undefined) return yield* problem
    const frames = new Frames(file, handle, stat.size)
    const header = yield* decodeHeader(file, yield* frames.take("header"))
    return {
      header,
      next: nextPage(file, frames, header, new Counts(header)),
      progress: () => ({ read: frames.at, total: stat.size })
    }
  }
)

/** Reads the whole file, and returns its header. Fails when any part of the file is damaged or missing. */
export const verify = Effect.fn("BackupReader.verify")(
  function*(file: string) {
    const reader = yield* open(file)
    while ((yield* reader.next) !== undefined);
    return reader.header
  },
  Effect.scoped
)

const damaged = (file: string, problem: string) =>
  backupError("Damaged", `The backup ${file} is damaged: ${problem}. Nothing was restored. Use another backup.`)

const readFully = async (handle: fs.promises.FileHandle, at: number, length: number): Promise<Buffer> => {
  const bytes = Buffer.allocUnsafe(length)
  let done = 0
  while (done < length) {
    const { bytesRead } = await handle.read(bytes, done, length - done, at + done)
    if (bytesRead === 0) break
    done += bytesRead
  }
  return bytes.subarray(0, done)
}

/** The frames of a file, checked one after the other. */
class Frames {
  readonly #file: string
  readonly #handle: fs.promises.FileHandle
  readonly #size: number
  readonly #whole: Hash = createHash("sha256").update(firstLine)
  at = firstLine.length
  position = 0
  /** Checksum of all bytes before the frame that was read last. */
  before = ""

  constructor(file: string, handle: fs.promises.FileHandle, size: number) {
    this.#file = file
    this.#handle = handle
    this.#size = size
  }

  get isAtEnd(): boolean {
    return this.at === this.#size
  }

  /** The content of the next frame, which has to be of this kind. */
  take(kind: FrameKind): Effect.Effect<Buffer, BackupError> {
    return Effect.flatMap(this.next(), (frame) =>
      frame.kind === kind
        ? Effect.succeed(frame.content)
        : Effect.fail(damaged(this.#file, `a ${frame.kind} stands in the place of the ${kind}`)))
  }

  next(): Effect.Effect<{ readonly kind: FrameKind; readonly content: Buffer }, BackupError> {
    return Effect.tryPromise({ try: () => this.#read(), catch: (cause) => explainFile(this.#file, cause) }).pipe(
      Effect.flatMap((frame) =>
        typeof frame === "string" ? Effect.fail(damaged(this.#file, frame)) : Effect.succeed(frame)
      )
    )
  }

  /** A frame, or the problem. */
  async #read() {
    const cut = `it ends after ${this.#size} bytes, within frame ${this.position}`
    if (this.at + frameHeadBytes > this.#size) return cut
    const head = await readFully(this.#handle, this.at, frameHeadBytes)
    if (head.length < frameHeadBytes) return cut
    const decoded = decodeHead(head)
    if (decoded === undefined) return `frame ${this.position} has no valid head`
    if (this.at + frameHeadBytes + decoded.payloadBytes > this.#size) return cut
    const payload = await readFully(this.#handle, this.at + frameHeadBytes, decoded.payloadBytes)
    const content = await decodeContent(head, this.position, payload)
    if (content === undefined) return `the checksum of frame ${this.position} does not fit`
    this.before = this.#whole.copy().digest("hex")
    this.#whole.update(head).update(payload)
    this.at += head.length + payload.length
    this.position++
    return { kind: decoded.kind, content }
  }
}

const decodeHeaderText = Schema.decodeUnknownOption(Schema.fromJsonString(Header))
const decodeEndText = Schema.decodeUnknownOption(Schema.fromJsonString(End))

const decodeHeader = (file: string, content: Buffer): Effect.Effect<Header, BackupError> =>
  Effect.mapError(
    Effect.fromOption(decodeHeaderText(content.toString())),
    () => damaged(file, "its header is not readable")
  )

/** Counts rows against the header. */
class Counts {
  readonly #left: Map<string, number>
  pages = 0
  rows = 0

  constructor({ tables }: Header) {
    this.#left = new Map(tables.map(({ name, rows }) => [name, rows]))
  }

  /** False for a page of an unknown table, or of more rows than the header has. */
  add({ rows, table }: Page): boolean {
    const left = (this.#left.get(table) ?? -1) - rows.length
    this.#left.set(table, left)
    this.pages++
    this.rows += rows.length
    return left >= 0
  }

  get missing(): number {
    return [...this.#left.values()].reduce((sum, left) => sum + left, 0)
  }
}

const nextPage = (file: string, frames: Frames, header: Header, counts: Counts): BackupReader["next"] =>
  Effect.gen(function*() {
    const { content, kind } = yield* frames.next()
    if (kind === "end") {
      const problem = findProblemAtEnd(content, frames, counts)
      return problem === undefined ? undefined : yield* damaged(file, problem)
    }
    const page = kind === "page" ? decodePage(content) : undefined
    if (page === undefined || !counts.add(page)) {
      return yield* damaged(file, `frame ${frames.position - 1} does not fit the header of schema ${header.schema}`)
    }
    return page
  })

const findProblemAtEnd = (content: Buffer, frames: Frames, counts: Counts): string | undefined => {
  const end = Option.getOrUndefined(decodeEndText(content.toString()))
  if (end === undefined) return "its end is not readable"
  if (end.sha256 !== frames.before) return "the checksum of the whole file does not fit"
  if (end.pages !== counts.pages || end.rows !== counts.rows || counts.missing > 0) {
    return `it has ${counts.rows} rows in ${counts.pages} pages, and ${counts.missing} rows of its header are missing`
  }
  return frames.isAtEnd ? undefined : "more bytes follow its end"
}
