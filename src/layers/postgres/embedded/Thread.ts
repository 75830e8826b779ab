import { Effect, type Scope } from "effect"
import type { Duplex } from "node:stream"
import type { Worker } from "node:worker_threads"
import { Connector } from "./Connector.ts"
import { launch } from "./Launch.ts"
import type { FromWorker, Start, ToWorker } from "./Messages.ts"

/** A running embedded database. */
export interface Thread {
  readonly connect: () => Duplex
  /** Waits for the end that nobody asked for, and says why it came; from then on all connections are closed. */
  readonly ended: Effect.Effect<string>
}

/** A transaction that says nothing for so many milliseconds makes way when others wait. */
const idleTransaction = 60_000

/**
 * Starts the thread on a cluster's directory and waits until it serves; fails with the reason when it does not.
 * When the scope closes, the database writes everything out before the thread ends.
 */
export const startThread = (start: Pick<Start, "cluster" | "mayMake">): Effect.Effect<Thread, string, Scope.Scope> =>
  Effect.gen(function*() {
    const handle = yield* Effect.acquireRelease(
      Effect.try({ try: () => new Handle({ ...start, idleTransaction }), catch: String }), // a user may have too many threads
      (handle) => handle.stop
    )
    yield* handle.ready
    return {
      connect: () => handle.connector.connect(),
      ended: handle.ended
    }
  })

/** Time and process, before each line of the server's log. */
const stamp = /^\d{4}-\d\d-\d\d [\d:.]+ \w+ \[\d+\] /

class Handle {
  readonly connector: Connector
  readonly ready: Effect.Effect<void, string>
  readonly ended: Effect.Effect<string>
  readonly stop: Effect.Effect<void>
  readonly #worker: Worker
  readonly #end: Promise<string>
  /** Last lines of the server's log: why it ended is in there. */
  readonly #log: Array<string> = []

  constructor(start: Start) {
    this.#worker = launch(start)
    this.connector = new Connector(this.#worker)
    const ready = new Promise<void>((resolve) => {
      this.#worker.on("message", (message: FromWorker) => {
        if (message._tag === "Ready") resolve()
        else this.#note(message)
      })
    })
    this.#worker.on("error", (error) => this.#log.push(String(error)))
    this.#end = new Promise((resolve) => {
      this.#worker.once("exit", (code) => resolve(this.#why(code)))
    })
    void this.#end.then((why) => this.connector.fail(new Error(why)))
    this.ended = Effect.promise(() => this.#end)
    this.ready = Effect.raceFirst(Effect.promise(() => ready), Effect.flatMap(this.ended, Effect.fail))
    this.stop = Effect.promise(() => this.#shutDown()).pipe(
      Effect.interruptible, // a finalizer is not, and would wait for ever
      Effect.timeoutOption("10 seconds"),
      Effect.andThen(Effect.promise(() => this.#worker.terminate()))
    )
  }

  #note(message: FromWorker): void {
    if (message._tag !== "Log" && message._tag !== "Crashed") return
    this.#log.push(message._tag === "Log" ? message.line.trim().replace(stamp, "") : message.why)
    if (this.#log.length > 8) this.#log.shift()
  }

  #why(code: number): string {
    const told = this.#log.filter((line) => /^(PANIC|FATAL)/.test(line)) // what follows one of these is only its echo
    if (told.length > 0) return told.join("; ")
    return this.#log.length > 0 ? this.#log.join("; ") : `its thread ended with code ${code}`
  }

  #shutDown(): Promise<string> {
    const shutdown: ToWorker = { _tag: "Shutdown" }
    this.#worker.postMessage(shutdown)
    return this.#end
  }
}
