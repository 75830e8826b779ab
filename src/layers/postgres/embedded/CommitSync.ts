import * as fs from "node:fs"

/**
 * Longest wait for a sync in the thread pool, in ms; then this thread syncs itself. Slow name lookups may occupy the pool, and this thread
 * learns of the end of a sync only between two messages.
 */
const maxWaitMs = 20

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
  #next: { readonly file: number; readonly answers: Array<() => void> } | undefined
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
  }

  /** The backend has written commits to the log and asks for its sync. */
  commit(file: number): void {
    if (!this.#isDeferring) return this.sync(file)
    if (this.#next !== undefined && this.#next.file !== file) this.flush() // the log continues in another file
    if (this.#running === undefined) this.#start(file, [])
    else this.#next ??= { file, answers: [] }
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
    if (next !== undefined && next.file !== running.file) this.sync(next.file)
    for (const answer of running.answers) answer()
    for (const answer of next?.answers ?? []) answer()
  }

  /** Called before the file is closed, whose number may name another file next. */
  close(file: number): void {
    if (this.#running?.file === file || this.#next?.file === file) this.flush()
  }

  /** Syncs a file in this thread. */
  sync(file: number): void {
    try {
      fs.fdatasyncSync(file)
    } catch (error) {
      this.#crash(error)
    }
  }

  #start(file: number, answers: Array<() => void>): void {
    const timer = setTimeout(() => this.flush(), maxWaitMs)
    const sync: Sync = { file, answers, timer, since: performance.now() }
    this.#running = sync
    fs.fdatasync(file, (error) => {
      if (this.#running !== sync) return // `flush` has synced the file, and its number may name another file by now
      if (error !== null) this.#crash(error)
      clearTimeout(sync.timer)
      const next = this.#next
      this.#running = undefined
      this.#next = undefined
      if (next !== undefined) this.#start(next.file, next.answers)
      for (const answer of answers) answer()
    })
  }
}
