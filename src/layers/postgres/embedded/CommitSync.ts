import * as fs from "node:fs"

/**
 * Bounds of the wait for a sync in the thread pool, in ms: twice the last one. Then this thread syncs itself between two statements, because
 * other work of the process (password hashes, decompression, files) may occupy the pool.
 */
const [minPatienceMs, maxPatienceMs] = [20, 200]

/** Maximum of syncs in the pool: otherwise overtaken ones would queue up behind other work. The pool has four threads. */
const maxPoolSyncs = 3

/** A file of the log: the backend's descriptor, and its path on disk. */
export interface LogFile {
  readonly descriptor: number
  readonly path: string
}

/**
 * The descriptor for the syncs of the thread pool. The kernel reports a write error once for each opening of a file: with a shared one, a
 * sync of this thread would pass after the failed one of the pool. The backend may also close its own at any time.
 */
interface PoolFile extends LogFile {
  /** Syncs that have not ended. */
  syncs: number
}

/** One sync of the log in the thread pool, with the answers that wait for it. */
interface Sync {
  readonly descriptor: number
  readonly answers: Array<() => void>
  readonly timer: NodeJS.Timeout
  /** By `performance.now`. */
  readonly startedAtMs: number
}

/**
 * Syncs the write-ahead log in the thread pool, once for all commits that arrive while the sync before runs.
 *
 *   commits  A ─ B ─ C ─── D ─────────────
 *   syncs    [A─────][B, C─────][D─────]
 *   answers         A          B, C     D
 *
 * The backend continues as if its commits were on disk. Two things wait for the sync, so that a loss of power shows no difference: all
 * answers (a read may have seen the commit), and all other changes of the cluster's files (`flush`), because a page of a table may not reach
 * the disk before its log.
 */
export class CommitSync {
  #running: Sync | undefined
  /** The log with commits that `#running` does not cover. */
  #next: { readonly log: LogFile; readonly answers: Array<() => void> } | undefined
  #poolFile: PoolFile | undefined
  /** Syncs of the pool that `flush` has overtaken, and that have not ended. */
  #overtaken = 0
  #patienceMs = minPatienceMs
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
    if (!this.#isDeferring) return this.sync(log.descriptor)
    if (this.#next !== undefined && this.#next.log.descriptor !== log.descriptor) this.flush() // the log continues in another file
    if (this.#running === undefined) this.#start(log, [])
    else this.#next ??= { log, answers: [] }
  }

  /** Calls `answer` once all commits so far are on disk; at once, if they are. */
  whenSynced(answer: () => void): void {
    if (this.#running === undefined) return answer()
    const { answers } = this.#next ?? this.#running
    answers.push(answer)
    if (performance.now() - this.#running.startedAtMs >= this.#patienceMs) this.flush()
  }

  /** Syncs all commits in this thread. Called before each other change of the cluster's files. */
  flush(): void {
    const [running, next] = [this.#running, this.#next]
    if (running === undefined) return
    this.#running = undefined
    this.#next = undefined
    this.#overtaken++
    clearTimeout(running.timer)
    this.sync(running.descriptor)
    if (next !== undefined && next.log.descriptor !== running.descriptor) this.sync(next.log.descriptor)
    for (const answer of running.answers) answer()
    for (const answer of next?.answers ?? []) answer()
  }

  /** True while a commit is not on disk. */
  get isPending(): boolean {
    return this.#running !== undefined
  }

  /** Called before the backend closes a file, because `flush` needs its descriptor. */
  close(descriptor: number): void {
    if (this.#running?.descriptor === descriptor || this.#next?.log.descriptor === descriptor) this.flush()
  }

  /** Syncs a file in this thread. */
  sync(descriptor: number): void {
    try {
      fs.fdatasyncSync(descriptor)
    } catch (error) {
      this.#crash(error)
    }
  }

  #start({ descriptor, path }: LogFile, answers: Array<() => void>): void {
    const poolFile = this.#overtaken >= maxPoolSyncs ? undefined : this.#openPoolFile(path)
    if (poolFile === undefined) {
      this.sync(descriptor)
      for (const answer of answers) answer()
      return
    }
    const timer = setTimeout(() => this.flush(), this.#patienceMs)
    const sync: Sync = { descriptor, answers, timer, startedAtMs: performance.now() }
    this.#running = sync
    poolFile.syncs++
    fs.fdatasync(poolFile.descriptor, (error) => {
      poolFile.syncs--
      if (error !== null) this.#crash(error)
      if (poolFile !== this.#poolFile) closeUnused(poolFile)
      this.#patienceMs = Math.min(Math.max(2 * (performance.now() - sync.startedAtMs), minPatienceMs), maxPatienceMs)
      if (this.#running === sync) this.#end(sync)
      else this.#overtaken--
    })
  }

  #end({ answers, timer }: Sync): void {
    clearTimeout(timer)
    const next = this.#next
    this.#running = undefined
    this.#next = undefined
    for (const answer of answers) answer()
    if (next !== undefined) this.#start(next.log, next.answers)
  }

  /** Undefined when the process has no descriptor left. */
  #openPoolFile(path: string): PoolFile | undefined {
    if (this.#poolFile?.path === path) return this.#poolFile
    try {
      const opened: PoolFile = { path, descriptor: fs.openSync(path, "r+"), syncs: 0 }
      this.#usePoolFile(opened)
      return opened
    } catch {
      return undefined
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
