import * as fs from "node:fs"
import { basename, join } from "node:path"

/** PostgreSQL makes its own log files under names of this prefix, and removes such files after a crash. */
export const draftLogName = "xlogtemp.windhover"

/** Bytes of a file of the log: PostgreSQL's default, and that of the template. */
const fileSize = 16 * 1024 * 1024

/** Maximum of old files that become next files: the log between two checkpoints. */
const maxSpares = 8

/** A sync of the log may wait for a write of this size, but never for the whole file. */
const chunk = new Uint8Array(1024 * 1024)

/**
 * Gives the next file of the write-ahead log its name, as soon as the current file is half full: an old file that a checkpoint has left, or one
 * that the thread pool makes.
 *
 * PostgreSQL continues its log in a file of that name, as in a file that it recycles itself. Without the file, PostgreSQL writes and syncs 16 MB
 * itself, and all statements wait.
 */
export class NextLogFile {
  readonly #directory: string
  readonly #draft: string
  readonly #crash: (error: unknown) => never
  #current: string | undefined
  #isRunning = false

  /** `directory` is that of the log. `crash` must not return: commits in a file whose name is not on disk are lost with the power. */
  constructor(directory: string, crash: (error: unknown) => never) {
    this.#directory = directory
    this.#draft = join(directory, draftLogName)
    this.#crash = crash
    this.#removeDraft() // of a process that ended before it was complete
  }

  /**
   * Makes the file behind `current` if a write at `position` makes `current` half full. The promise ends with the work that this call starts.
   *
   * An error of the disk leaves the file to PostgreSQL, which reports its own errors.
   */
  async prepareAfter(current: string, position: number): Promise<void> {
    if (position < fileSize / 2 || this.#current === current || this.#isRunning) return
    this.#current = current
    this.#isRunning = true
    const next = join(this.#directory, nextName(current))
    try {
      if (fs.existsSync(next)) return
      const spare = this.#spares()[0]
      if (spare === undefined) await writeEmpty(this.#draft)
      else fs.renameSync(spare, this.#draft)
      this.#publish(next)
    } catch {
      this.#removeDraft()
    } finally {
      this.#isRunning = false
    }
  }

  /** Keeps an old file of the log for later. Returns false if it must be removed instead. PostgreSQL removes the kept ones after a crash. */
  keep(path: string): boolean {
    if (this.#spares().length >= maxSpares) return false
    try {
      fs.renameSync(path, `${this.#draft}.${basename(path)}`)
      return true
    } catch {
      return false
    }
  }

  #spares(): ReadonlyArray<string> {
    return fs.readdirSync(this.#directory)
      .filter((name) => name.startsWith(`${draftLogName}.`))
      .map((name) => join(this.#directory, name))
  }

  /** Runs in one turn of the event loop, so that PostgreSQL, in the same thread, neither makes nor uses the file meanwhile. */
  #publish(next: string): void {
    if (fs.existsSync(next)) return this.#removeDraft()
    const directory = fs.openSync(this.#directory, "r") // may fail, while the file has its draft name
    try {
      fs.renameSync(this.#draft, next)
      this.#sync(directory)
    } finally {
      fs.closeSync(directory)
    }
  }

  #sync(directory: number): void {
    try {
      fs.fsyncSync(directory)
    } catch (error) {
      this.#crash(error)
    }
  }

  #removeDraft(): void {
    try {
      fs.rmSync(this.#draft, { force: true })
    } catch {
      // The next draft replaces this one.
    }
  }
}

const writeEmpty = async (path: string): Promise<void> => {
  const file = await fs.promises.open(path, "w", 0o600)
  try {
    for (let written = 0; written < fileSize; written += chunk.length) {
      await file.writeFile(chunk)
      await file.datasync()
    }
  } finally {
    await file.close()
  }
}

const filesPer4GiB = 2 ** 32 / fileSize

/** Returns the name of the file behind a file of the log. Names have 8 digits each for the timeline, the 4 GiB of log, and the file in the 4 GiB. */
export const nextName = (name: string): string => {
  const timeline = name.slice(0, 8)
  const current = Number.parseInt(name.slice(8, 16), 16) * filesPer4GiB + Number.parseInt(name.slice(16), 16)
  const next = current + 1
  return timeline + hex(Math.floor(next / filesPer4GiB)) + hex(next % filesPer4GiB)
}

const hex = (number: number): string => number.toString(16).toUpperCase().padStart(8, "0")
