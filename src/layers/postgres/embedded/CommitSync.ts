import * as fs from "node:fs"

/**
 * Longest wait for a sync in the thread pool, in ms; then this thread syncs itself between two statements. Slow name lookups may occupy the
 * pool, and this thread learns of the end of a sync only between two messages.
 */
const maxWaitMs = 20

/** A file of the log: the backend's descriptor, and its path on disk. */
export interface LogFile {
  readonly file: number
  readonly path: string
}

/**
 * The descriptor for the syncs of the thread pool. The kernel reports a write error once for each opening of a file: with a shared one, a
 * sync of this thread would pass after the failed one of the pool. The backend may also close its own at any time.
 */
interface PoolFile {
  readonly path: string
  readonly descriptor: number
  /** Syncs that have not ended. */
  syncs: number
}

/** One sync of the log in the thread pool, with the answers that wait for it. */
interface Sync {
  readonly file: number
  readonly answers: Array<() => void>
  readonly timer: NodeJS.Timeout
  /** Start of the sync, by `performance.now`. */
  readonly since: number
}

/**
 * Syncs the write-ahead log in the thread pool, once for all commits that arrive while the sync before runs.
 *
 *   commits  A ─ B ─ C ─── D ─────────────
 *   syncs    [A─────][B, C─────][D─────]
 *   answers         A          B, C     D
 *
 * The backend continues as if its commits were on disk. After a loss of power no one may tell the difference, so two things wait for the
 * sync: all answers (a read may have seen the commit), and all other changes of the cluster's files (`flush`), because a page of a table may
 * not reach the disk before its log.
 */
export class CommitSync {
  #running: Sync | undefined
  /** The log with commits that `#running` does not cover. */
  #next: { readonly log: LogFile; readonly answers: Array<() => void> } | undefined
  #poolFile: PoolFile | undefined
  #isDeferring = false
  readonly #crash: (error: unknown) => never

  /** `crash` must not return: after a failed sync the kernel may have dropped the unwritten pages, and only a recovery can tell. */
  constructor(crash: (error: unknown) => never) {
    this.#crash = crash
  }

  /** From now on, commits do not wait in `commit`. Recovery before and shutdown after wait for each sync. */
  defer(): void {
    this.#isDeferring = true
  }

  /** Syncs all commits, and those that follow at once. */
  stopDeferring(): void {
    this.#isDeferring = false
    this.flush()
    this.#usePoolFile(undefined)
  }

  /** The backend has written commits to the log and asks for its sync. */
  commit(log: LogFile): void {
    if (!this.#isDeferring) return this.sync(log.file)
    if (this.#next !== undefined && this.#next.log.file !== log.file) this.flush() // the log continues in another file
    if (this.#running === undefined) this.#start(log, [])
    else this.#next ??= { log, answers: [] }
  }

  /** Calls `answer` once all commits so far are on disk; at once, if they are. */
  whenSynced(answer: () => void): void {
    if (this.#running === undefined) return answer()
    const { answers } = this.#next ?? this.#running
    answers.push(answer)
    if (performance.now() - this.#running.since >= maxWaitMs) this.flush()
  }

  /** Syncs all commits in this thread. Called before each other change of the cluster's files. */
  flush(): void {
    const [running, next] = [this.#running, this.#next]
    if (running === undefined) return
    this.#running = undefined
    this.#next = undefined
    clearTimeout(running.timer)
    this.sync(running.file)
    if (next !== undefined && next.log.file !== running.file) this.sync(next.log.file)
    for (const answer of running.answers) answer()
    for (const answer of next?.answers ?? []) answer()
  }

  /** Called before the backend closes a file, because `flush` needs its descriptor. */
  close(file: number): void {
    if (this.#running?.file === file || this.#next?.log.file === file) this.flush()
  }

  /** Syncs a file in this thread. */
  sync(file: number): void {
    try {
      fs.fdatasyncSync(file)
    } catch (error) {
      this.#crash(error)
    }
  }

  #start(log: LogFile, answers: Array<() => void>): void {
    const timer = setTimeout(() => this.flush(), maxWaitMs)
    const sync: Sync = { file: log.file, answers, timer, since: performance.now() }
    this.#running = sync
    const poolFile = this.#openPoolFile(log.path)
    poolFile.syncs++
    fs.fdatasync(poolFile.descriptor, (error) => {
      poolFile.syncs--
      if (error !== null) this.#crash(error)
      if (poolFile !== this.#poolFile) closeUnused(poolFile)
      if (this.#running === sync) this.#end(sync)
    })
  }

  #end({ answers, timer }: Sync): void {
    clearTimeout(timer)
    const next = this.#next
    this.#running = undefined
    this.#next = undefined
    if (next !== undefined) this.#start(next.log, next.answers)
    for (const answer of answers) answer()
  }

  #openPoolFile(path: string): PoolFile {
    if (this.#poolFile?.path === path) return this.#poolFile
    try {
      const opened: PoolFile = { path, descriptor: fs.openSync(path, "r+"), syncs: 0 }
      this.#usePoolFile(opened)
      return opened
    } catch (error) {
      return this.#crash(error)
    }
  }

  #usePoolFile(next: PoolFile | undefined): void {
    const former = this.#poolFile
    this.#poolFile = next
    if (former !== undefined) closeUnused(former)
  }
}

const closeUnused = ({ descriptor, syncs }: PoolFile): void => {
  if (syncs === 0) fs.closeSync(descriptor)
}
