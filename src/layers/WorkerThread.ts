import { Effect } from "effect"
import { Worker } from "node:worker_threads"

/** A thread for work that a stranger's bytes can make long: it answers messages one by one. */
export interface Options {
  readonly script: URL
  readonly name: string
  readonly maxOldGenerationSizeMb: number
  readonly maxYoungGenerationSizeMb: number
}

/** Started when it is first needed and after each loss. */
export class WorkerThread<Question, Answer> {
  readonly #options: Options
  #worker: Worker | undefined

  constructor(options: Options) {
    this.#options = options
  }

  /** Answers one question at a time, fails with the reason when the thread ends meanwhile; to interrupt it ends the thread. */
  ask(question: Question): Effect.Effect<Answer, string> {
    return Effect.callback<Answer, string>((resume) => {
      const worker = this.#running()
      const answered = (answer: Answer) => {
        worker.off("error", lost).off("exit", lost)
        resume(Effect.succeed(answer))
      }
      const lost = (why: unknown) => resume(Effect.fail(`its thread ended (${String(why)})`))
      worker.once("message", answered).once("error", lost).once("exit", lost).postMessage(question)
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
