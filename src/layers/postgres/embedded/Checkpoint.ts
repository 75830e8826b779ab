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
  control: { readonly path: string; readonly bytes: Buffer; readonly position: number } | undefined
  /** Files that only a recovery from the checkpoint before needs. */
  readonly removed: Array<string>
}

/**
 * A checkpoint whose files are synced in the thread pool, while statements go on.
 *
 * PostgreSQL writes its pages, syncs some 80 files one after the other, names the checkpoint in the control file and removes the log before
 * it. All statements wait for the syncs. Here, everything from the first sync on is postponed and done in the same order:
 *
 *   this thread  [pages]  statements …                 [control file, removals]  …
 *   pool                 [sync][sync][sync] … [sync]
 *
 * A crash before the control file is on disk recovers from the checkpoint before, whose log is still there.
 */
export class Checkpoint {
  #postponed: Postponed | undefined
  #isRunning = false
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
    this.#postponed = { files: [], control: undefined, removed: [] }
    this.#isRunning = true
  }

  /** Called after the statement. The promise ends when the checkpoint is on disk, and is true unless PostgreSQL made none. */
  async end(): Promise<boolean> {
    this.#isRunning = false
    const postponed = this.#postponed
    if (postponed === undefined) return true // an operation in the middle has settled it
    for (let file = postponed.files[0]; file !== undefined; file = postponed.files[0]) {
      await this.#syncInPool(file)
      if (this.#postponed !== postponed) return true
      fs.closeSync(file.descriptor)
      postponed.files.shift()
    }
    this.#complete(postponed)
    return postponed.control !== undefined
  }

  /** Returns true for a sync that needs not happen now. */
  postponesSync(path: string): boolean {
    const postponed = this.#postponed
    if (postponed === undefined || !this.#isRunning) return false
    if (postponed.control !== undefined) {
      if (path === postponed.control.path || postponed.removed.some((removed) => dirname(removed) === path)) return true
      this.settle()
      return false
    }
    if (!isPages(path)) return false
    try {
      postponed.files.push({ path, descriptor: fs.openSync(path, "r+") })
      return true
    } catch {
      return false // the process has no descriptor left
    }
  }

  /** Returns true for a write that must not happen now, and keeps its bytes. */
  postponesWrite(path: string, bytes: Uint8Array, position: number): boolean {
    if (!path.endsWith(controlFile)) return false
    if (this.#isRunning && this.#postponed !== undefined && this.#postponed.control === undefined) {
      this.#postponed.control = { path, bytes: Buffer.from(bytes), position }
      return true
    }
    this.settle()
    return false
  }

  /** Returns true for a removal that must not happen now. */
  postponesRemoval(path: string): boolean {
    if (!this.#isRunning || this.#postponed?.control === undefined) return false
    this.#postponed.removed.push(path)
    return true
  }

  /** Called before a change of names, or of the length of a file. */
  beforeChange(target?: string): void {
    if (this.#postponed?.control === undefined) return
    if (this.#isRunning || (target !== undefined && this.#postponed.removed.includes(target))) this.settle()
  }

  /** Does in this thread what is postponed. */
  settle(): void {
    const postponed = this.#postponed
    if (postponed === undefined) return
    this.#isRunning = false
    for (const { descriptor } of postponed.files) {
      this.#sync(descriptor)
      fs.closeSync(descriptor)
    }
    this.#complete(postponed)
  }

  #complete({ control, removed }: Postponed): void {
    this.#postponed = undefined
    if (control === undefined) return
    try {
      const descriptor = fs.openSync(control.path, "r+")
      fs.writeSync(descriptor, control.bytes, 0, control.bytes.length, control.position)
      fs.fdatasyncSync(descriptor)
      fs.closeSync(descriptor)
    } catch (error) {
      this.#crash(error)
    }
    for (const path of removed) {
      try {
        this.#remove(path)
      } catch {
        // The next checkpoint finds the file again.
      }
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
    let own: number
    try {
      own = fs.openSync(path, "r+")
    } catch { // removed, or the process has no descriptor left
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

const controlFile = "/global/pg_control"

/** True for a file of a table, an index or transactions. Files of other kinds are renamed after their sync, and must be on disk before. */
const isPages = (path: string): boolean =>
  /^\d+(_\w+)?(\.\d+)?$/.test(basename(path)) && /\/(base\/\d+|global)$/.test(dirname(path)) ||
  /\/(pg_xact|pg_multixact\/\w+)\/[0-9A-F]+$/.test(path)
