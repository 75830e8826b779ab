import * as fs from "node:fs"
import { basename, dirname } from "node:path"

/** A file whose sync is postponed. The descriptor is older than all syncs of the file, so that it reports all errors. */
interface PostponedFile {
  readonly descriptor: number
  readonly path: string
}

/** The part of a checkpoint that PostgreSQL believes to be on disk. */
interface Postponed {
  /** Files with pages that are not on disk. */
  readonly files: Array<PostponedFile>
  /** The write that makes this checkpoint the last one. */
  control: ControlWrite | undefined
  /** Files that a recovery from the checkpoint before may need: old log, dropped tables. */
  readonly removed: Array<string>
  /** Resolves when all of this is done. */
  readonly done: PromiseWithResolvers<void>
}

interface ControlWrite extends PostponedFile {
  readonly bytes: Buffer
  readonly position: number
}

/**
 * Maximum time in ms for the syncs of the thread pool. This thread then syncs the rest itself, because the log grows until the checkpoint is
 * complete, and other work of the process (password hashes, decompression, files) may occupy the pool.
 */
const maxPoolMs = 30_000

/**
 * A checkpoint whose files are synced in the thread pool, while statements go on.
 *
 * PostgreSQL writes its pages, syncs some 80 files one after the other, names the checkpoint in the control file and removes the log before
 * it. All statements wait for the syncs. Here, everything from the first sync on is postponed and done in the same order:
 *
 *   this thread  [pages]  statements …                 [control file, removals]  …
 *   pool                 [sync][sync][sync] … [sync]
 *
 * A crash before the control file is on disk recovers from the checkpoint before, whose log is still there. Before an
 * operation that could conflict with a postponed one, this thread does all that is postponed.
 */
export class Checkpoint {
  #postponed: Postponed | undefined
  #isStatementRunning = false
  readonly #remove: (path: string) => void
  readonly #crash: (error: unknown) => never

  /** `crash` must not return: after a failed sync the kernel may have dropped the unwritten pages, and only a recovery can tell. */
  constructor(remove: (path: string) => void, crash: (error: unknown) => never) {
    this.#remove = remove
    this.#crash = crash
  }

  /** Called before the statement `checkpoint`. */
  begin(): void {
    this.settle()
    this.#postponed = { files: [], control: undefined, removed: [], done: Promise.withResolvers() }
    this.#isStatementRunning = true
  }

  /** Called after the statement. The promise ends when the checkpoint is on disk, and is true unless PostgreSQL made none. */
  async end(): Promise<boolean> {
    this.#isStatementRunning = false
    const postponed = this.#postponed
    if (postponed === undefined) return true // settled, but not before PostgreSQL wrote the control file
    const timer = setTimeout(() => this.#postponed === postponed && this.settle(), maxPoolMs)
    for (let file = postponed.files[0]; file !== undefined; file = postponed.files[0]) {
      await Promise.race([this.#syncInPool(file), postponed.done.promise])
      if (this.#postponed !== postponed) break
      fs.closeSync(file.descriptor)
      postponed.files.shift()
    }
    clearTimeout(timer)
    if (this.#postponed === postponed) this.#complete(postponed)
    return postponed.control !== undefined
  }

  /** Returns true for a sync that must not happen now. A directory is synced behind each removal from it. */
  postponesSync(path: string): boolean {
    const postponed = this.#postponed
    if (postponed === undefined || !this.#isStatementRunning) return false
    if (postponed.control !== undefined) {
      if (path === postponed.control.path || postponed.removed.some((removed) => dirname(removed) === path)) return true
      this.settle()
      return false
    }
    if (!isPages(path)) return false
    const descriptor = tryOpen(path)
    if (descriptor === undefined) return false
    postponed.files.push({ path, descriptor })
    return true
  }

  /** Returns true for a write that must not happen now, and keeps its bytes. */
  postponesWrite(path: string, bytes: Uint8Array, position: number): boolean {
    if (!path.endsWith(controlFile)) return false
    const postponed = this.#postponed
    if (postponed !== undefined && this.#isStatementRunning && postponed.control === undefined) {
      const descriptor = tryOpen(path)
      if (descriptor !== undefined) {
        postponed.control = { path, descriptor, bytes: Buffer.from(bytes), position }
        return true
      }
    }
    this.settle()
    return false
  }

  /** Returns true for a removal that must not happen now. */
  postponesRemoval(path: string): boolean {
    if (!this.#isStatementRunning || this.#postponed?.control === undefined) return false
    this.#postponed.removed.push(path)
    return true
  }

  /**
   * Called before a file gets a name or a length. Behind the control file, the statement of a checkpoint only removes files; later, no file may
   * take the name of one that is still to be removed.
   */
  beforeChange(path: string): void {
    if (this.#postponed?.control === undefined) return
    if (this.#isStatementRunning || this.#postponed.removed.includes(path)) this.settle()
  }

  /** Does in this thread what is postponed. */
  settle(): void {
    const postponed = this.#postponed
    if (postponed === undefined) return
    this.#isStatementRunning = false
    for (const { descriptor } of postponed.files) {
      this.#sync(descriptor)
      fs.closeSync(descriptor)
    }
    this.#complete(postponed)
  }

  #complete({ control, done, removed }: Postponed): void {
    this.#postponed = undefined
    done.resolve()
    if (control === undefined) return
    this.#write(control)
    this.#sync(control.descriptor)
    fs.closeSync(control.descriptor)
    for (const path of removed) {
      try {
        this.#remove(path)
      } catch {
        // The next checkpoint finds old log again, and the file of a dropped table is empty.
      }
    }
  }

  #write({ bytes, descriptor, position }: ControlWrite): void {
    try {
      const written = fs.writeSync(descriptor, bytes, 0, bytes.length, position)
      if (written !== bytes.length) throw new Error(`Only ${written} bytes of the control file were written.`)
    } catch (error) {
      this.#crash(error)
    }
  }

  #sync(descriptor: number): void {
    try {
      fs.fdatasyncSync(descriptor)
    } catch (error) {
      this.#crash(error)
    }
  }

  /** Syncs by a descriptor of its own: the kernel reports an error once for each opening, and `settle` needs the error as well. */
  #syncInPool({ descriptor, path }: PostponedFile): Promise<void> {
    const own = tryOpen(path)
    if (own === undefined) { // removed, or no descriptor is left
      this.#sync(descriptor)
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      fs.fdatasync(own, (error) => {
        if (error !== null) this.#crash(error)
        fs.closeSync(own)
        resolve()
      })
    })
  }
}

/** Undefined when the process has no descriptor left, or the file has gone. */
const tryOpen = (path: string): number | undefined => {
  try {
    return fs.openSync(path, "r+")
  } catch {
    return undefined
  }
}

const controlFile = "/global/pg_control"

/** True for a file of a table, an index or transactions. Files of other kinds are renamed after their sync, and must be on disk before. */
const isPages = (path: string): boolean =>
  /^\d+(_\w+)?(\.\d+)?$/.test(basename(path)) && /\/(base\/\d+|global)$/.test(dirname(path)) ||
  /\/(pg_xact|pg_multixact\/\w+)\/[0-9A-F]+$/.test(path)
