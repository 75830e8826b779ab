import * as fs from "node:fs"
import { basename, dirname, join } from "node:path"
import { syncDirectory } from "#layers/postgres/SyncDirectory.ts"

/** PostgreSQL removes files of this prefix at its start, because it writes its own log files under such names first. */
const draftName = "xlogtemp.windhover"

/** Bytes of a file of the log: PostgreSQL's default, and that of the template. */
const fileSize = 16 * 1024 * 1024

/** Bytes of one write and its sync. A commit may have to wait for one of these, not for the whole file. */
const chunk = new Uint8Array(1024 * 1024)

/**
 * Makes the next file of the write-ahead log in the thread pool, as soon as the current one is half full.
 *
 * PostgreSQL takes a file of that name, as one that it has recycled. Otherwise it would write and sync 16 MB when it needs the file, and all
 * statements would wait.
 */
export class NextLogFile {
  #current: string | undefined
  #isRunning = false

  /** Called for each write to the log, with the file's path. The promise ends with the work that this call has started. */
  async prepareAfter(current: string, position: number): Promise<void> {
    if (position < fileSize / 2 || this.#current === current || this.#isRunning) return
    this.#current = current
    this.#isRunning = true
    try {
      await makeNextOf(current)
    } catch {
      // PostgreSQL makes the file when it needs it, and reports what is wrong, like a full disk.
    } finally {
      this.#isRunning = false
    }
  }
}

const makeNextOf = async (current: string): Promise<void> => {
  const directory = dirname(current)
  const next = join(directory, nextName(basename(current)))
  if (fs.existsSync(next)) return
  const draft = join(directory, draftName)
  try {
    await writeEmpty(draft)
    // PostgreSQL may have made the file meanwhile, and a link replaces none. It may use the new one at once, so its name has to be on disk.
    fs.linkSync(draft, next)
    syncDirectory(directory)
  } finally {
    fs.rmSync(draft, { force: true })
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

/** A name has three numbers of 8 digits: the timeline, the number of 4 GiB of log, and the file in these. */
export const nextName = (name: string): string => {
  const [timeline, file] = [
    name.slice(0, 8),
    Number.parseInt(name.slice(8, 16), 16) * filesPer4GiB + Number.parseInt(name.slice(16), 16) + 1
  ]
  const digits = (number: number) => number.toString(16).toUpperCase().padStart(8, "0")
  return timeline + digits(Math.floor(file / filesPer4GiB)) + digits(file % filesPer4GiB)
}

const filesPer4GiB = 2 ** 32 / fileSize
