import { Effect, type Scope } from "effect"
import type { Duplex } from "node:stream"
import type { Worker } from "node:worker_threads"
import { Connector } from "./Connector.ts"
import { launch } from "./Launch.ts"
import type { FromWorker, Start, ToWorker } from "./Messages.ts"

/** An idle transaction ends after so many ms when other connections wait. */
const idleTransactionMs = 60_000

/**
 * Starts a thread on the directory of a cluster and waits until it serves. Fails with the problem if the start fails.
 * When the scope closes, the database writes all data to disk before the thread ends.
 */
export const startThread = (
  start: Pick<Start, "cluster" | "mayCreate">,
  launchWorker: (start: Start) => Worker = launch
): Effect.Effect<Thread, string, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({ try: () => new Thread(launchWorker({ ...start, idleTransactionMs })), catch: String }), // fails beyond the thread limit of the user
    (thread) => thread.stop
  ).pipe(Effect.tap((thread) => thread.ready))

/** Time and process before each line of the log. */
const logPrefix = /^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /

/** A running embedded database. */
export class Thread {
  readonly ready: Effect.Effect<void, string>
  /** Resolves with the problem when the thread ends unexpectedly. All connections are closed then. */
  readonly ended: Effect.Effect<string>
  readonly stop: Effect.Effect<void>
  /** Makes a checkpoint whose files are synced while other statements go on. Ends when it is on disk. */
  readonly checkpoint: Effect.Effect<void, string>
  readonly #connector: Connector
  readonly #worker: Worker
  readonly #end: Promise<string>
  /** The last lines of the log, which tell the problem. */
  readonly #log: Array<string> = []

  constructor(worker: Worker) {
    this.#worker = worker
    this.#connector = new Connector(this.#worker)
    const ready = new Promise<void>((resolve) => {
      this.#worker.on("message", (message: FromWorker) => {
        if (message._tag === "Ready") resolve()
        else this.#note(message)
      })
    })
    this.#worker.on("error", (error) => this.#log.push(String(error)))
    this.#end = new Promise((resolve) => {
      this.#worker.once("exit", (code) => resolve(this.#problem(code)))
    })
    void this.#end.then((problem) => this.#connector.fail(new Error(problem)))
    this.ended = Effect.promise(() => this.#end)
    this.ready = Effect.raceFirst(Effect.promise(() => ready), Effect.flatMap(this.ended, Effect.fail))
    this.checkpoint = Effect.raceFirst(this.#checkpoint, Effect.flatMap(this.ended, Effect.fail))
    this.stop = Effect.promise(() => this.#shutDown()).pipe(
      Effect.interruptible, // finalizers are uninterruptible by default, and the timeout would have no effect
      Effect.timeoutOption("10 seconds"),
      Effect.andThen(Effect.promise(() => this.#worker.terminate()))
    )
  }

  connect(): Duplex {
    return this.#connector.connect()
  }

  get #checkpoint(): Effect.Effect<void, string> {
    return Effect.callback<void, string>((resume) => {
      const receive = (message: FromWorker) => {
        if (message._tag !== "Checkpointed") return
        this.#worker.off("message", receive)
        resume(message.isMade ? Effect.void : Effect.fail("PostgreSQL made no checkpoint."))
      }
      this.#worker.on("message", receive)
      this.#send({ _tag: "Checkpoint" })
      return Effect.sync(() => this.#worker.off("message", receive))
    })
  }

  #note(message: FromWorker): void {
    if (message._tag !== "Log" && message._tag !== "Crashed") return
    this.#log.push(message._tag === "Log" ? message.line.trim().replace(logPrefix, "") : message.problem)
    if (this.#log.length > 8) this.#log.shift()
  }

  #problem(code: number): string {
    const fatal = this.#log.filter((line) => /^(PANIC|FATAL)/.test(line)) // later lines only repeat a fatal one
    if (fatal.length > 0) return fatal.join("; ")
    return this.#log.length > 0 ? this.#log.join("; ") : `its thread ended with code ${code}`
  }

  #shutDown(): Promise<string> {
    this.#send({ _tag: "Shutdown" })
    return this.#end
  }

  #send(message: ToWorker): void {
    this.#worker.postMessage(message)
  }
}
