import { type Duration, Effect } from "effect"
import { parentPort, Worker } from "node:worker_threads"

/** A thread for work that a stranger's bytes can make long. Its script calls `answering`. */
export interface Options {
  readonly script: URL
  readonly name: string
  readonly maxOldGenerationSizeMb: number
  readonly maxYoungGenerationSizeMb: number
}

/** What a thread says when it has loaded its script. */
const ready = "ready"

/** In the thread: answers questions one after the other, in the order in which they were asked. */
export const answering = <Question, Answer>(answer: (question: Question) => Answer): void => {
  parentPort?.on("message", (question: Question) => parentPort?.postMessage(answer(question)))
  parentPort?.postMessage(ready)
}

/** Started when it is first needed, or ahead, and after each loss. One question at a time. */
export class WorkerThread<Question, Answer> {
  readonly #options: Options
  #worker: Worker | undefined
  #isReady = false

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Fails with `late` after the deadline, which does not count the start of the thread, and with the reason when the thread ends meanwhile.
   * Both end the thread, and so does who interrupts it.
   */
  ask(question: Question, deadline: Duration.Input, late: string): Effect.Effect<Answer, string> {
    // never to a thread that is about to say that it is ready: its word would be taken for the answer
    const answer = Effect.suspend(() =>
      this.#isRunning
        ? this.#next<Answer>((worker) => worker.postMessage(question))
        : Effect.fail("its thread ended")
    )
    return Effect.andThen(
      this.start,
      Effect.timeoutOrElse(answer, { duration: deadline, orElse: () => Effect.fail(late) })
    )
  }

  /** Waits until the thread has loaded its script. */
  get start(): Effect.Effect<void, string> {
    return Effect.suspend(() => this.#isRunning ? Effect.void : this.#next(() => {}))
  }

  get #isRunning(): boolean {
    return this.#worker !== undefined && this.#isReady
  }

  /** The next message of the thread. */
  #next<Message>(begin: (worker: Worker) => void): Effect.Effect<Message, string> {
    return Effect.callback<Message, string>((resume) => {
      const worker = this.#running()
      const heard = (message: Message) => {
        worker.off("error", lost).off("exit", lost)
        this.#isReady = true
        resume(Effect.succeed(message))
      }
      const lost = (why: unknown) => resume(Effect.fail(`its thread ended (${String(why)})`))
      worker.once("message", heard).once("error", lost).once("exit", lost)
      begin(worker)
      return this.stop
    })
  }

  get stop(): Effect.Effect<void> {
    return Effect.promise(async () => {
      const worker = this.#worker
      this.#worker = undefined
      await worker?.terminate()
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
    worker.on("error", forget).on("exit", forget)
    this.#worker = worker
    return worker
  }
}
