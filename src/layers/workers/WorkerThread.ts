import { type Duration, Effect } from "effect"
import { parentPort, Worker } from "node:worker_threads"

/** A thread for work that a stranger's bytes can make long. Its script calls `answering`. */
export interface WorkerThreadOptions {
  readonly script: URL
  readonly name: string
  readonly maxOldGenerationSizeMb: number
  readonly maxYoungGenerationSizeMb: number
}

/** What a thread says when it has loaded its script. */
const ready = "ready"

/** In the thread: answers questions one after the other, in the order in which they were asked. */
export const serveQuestions = <Question, Answer>(answer: (question: Question) => Answer): void => {
  parentPort?.on("message", (question: Question) => parentPort?.postMessage(answer(question)))
  parentPort?.postMessage(ready)
}

/** Started when it is first needed, or ahead, and after each loss. One question at a time. */
export class WorkerThread<Question, Answer> {
  readonly #options: WorkerThreadOptions
  #worker: Worker | undefined
  #isReady = false

  constructor(options: WorkerThreadOptions) {
    this.#options = options
  }

  /**
   * Fails with `late` after the deadline, which does not count the start of the thread, and with the reason when the thread ends meanwhile.
   * Both end the thread, and so does who interrupts it; not while it starts.
   */
  ask(question: Question, deadline: Duration.Input, late: string): Effect.Effect<Answer, string> {
    // never to a thread that is about to say that it is ready: its word would be taken for the answer
    const answer = Effect.suspend(() =>
      this.#isRunning
        ? this.#next<Answer>((worker) => worker.postMessage(question), this.stop)
        : Effect.fail("its thread ended")
    )
    return Effect.andThen(
      this.start,
      Effect.timeoutOrElse(answer, { duration: deadline, orElse: () => Effect.fail(late) })
    )
  }

  /** Waits until the thread has loaded its script. Who is interrupted leaves it to the next one. */
  get start(): Effect.Effect<void, string> {
    return Effect.suspend(() => this.#isRunning ? Effect.void : this.#next(() => {}, Effect.void))
  }

  get #isRunning(): boolean {
    return this.#worker !== undefined && this.#isReady
  }

  /** The next message of the thread. */
  #next<Message>(begin: (worker: Worker) => void, interrupted: Effect.Effect<void>): Effect.Effect<Message, string> {
    const started = Effect.try({
      try: () => this.#running(),
      catch: (why) => `its thread could not be started (${String(why)})`
    })
    const heardFrom = (worker: Worker) =>
      Effect.callback<Message, string>((resume) => {
        const leave = () => void worker.off("message", heard).off("error", lost).off("exit", lost)
        const heard = (message: Message) => {
          leave()
          resume(Effect.succeed(message))
        }
        const lost = (why: unknown) => {
          leave()
          resume(Effect.fail(`its thread ended (${String(why)})`))
        }
        worker.on("message", heard).on("error", lost).on("exit", lost)
        begin(worker)
        return Effect.andThen(Effect.sync(leave), interrupted)
      })
    return Effect.flatMap(started, heardFrom)
  }

  /** A thread that is still loading is ended when it has: Node 24 dies, whole, when it is ended in the middle of that. */
  get stop(): Effect.Effect<void> {
    return Effect.promise(async () => {
      const worker = this.#worker
      this.#worker = undefined
      if (worker === undefined) return
      if (!this.#isReady) {
        await new Promise<unknown>((resolve) => {
          worker.once("message", resolve).once("exit", resolve)
        })
      }
      await worker.terminate()
    })
  }

  #running(): Worker {
    if (this.#worker !== undefined) return this.#worker
    this.#isReady = false
    const { maxOldGenerationSizeMb, maxYoungGenerationSizeMb, name, script } = this.#options
    const worker = new Worker(script, {
      name,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb, maxYoungGenerationSizeMb }
    })
    const forget = () => {
      if (this.#worker === worker) this.#worker = undefined
    }
    worker.on("error", forget).on("exit", forget).once("message", () => {
      if (this.#worker === worker) this.#isReady = true
    })
    this.#worker = worker
    return worker
  }
}
