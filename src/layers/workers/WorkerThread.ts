import { type Duration, Effect } from "effect"
import * as os from "node:os"
import { parentPort, type Worker, workerData } from "node:worker_threads"
import { startWorker } from "#layers/WorkerMemory.ts"

export interface WorkerThreadOptions {
  readonly script: URL
  readonly name: string
  /** On a busy machine, threads of the normal priority run first. */
  readonly hasLowPriority?: boolean
}

/** Priority of a thread for strangers: beside a thread of the normal priority, the kernel gives such a thread a tenth of a processor. */
const lowPriority = 10

/** Memory of a thread. Node ends a thread that needs more. */
const resourceLimits = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 48 }

/** First message of a thread, after its script has loaded. */
const readyMessage = "ready"

const isLowPriority = (data: unknown): boolean =>
  typeof data === "object" && data !== null && "hasLowPriority" in data && data.hasLowPriority === true

/** Linux alone has a priority for each thread. Elsewhere, the call would change the priority of the whole process. */
const lowerPriority = (): void => {
  if (process.platform === "linux") os.setPriority(lowPriority)
}

/** Runs in the thread: responds to requests one after the other, in their order. */
export const serveRequests = <Request, Response>(respond: (request: Request) => Response): void => {
  if (isLowPriority(workerData)) lowerPriority()
  parentPort?.on("message", (request: Request) => parentPort?.postMessage(respond(request)))
  // In the next turn, because Node still evaluates the script in this one, and may not be terminated meanwhile.
  setImmediate(() => parentPort?.postMessage(readyMessage))
}

/**
 * A thread for work of unpredictable length on foreign bytes. Its script calls `serveRequests`.
 *
 * The thread starts with `start` or the first request, and again after each loss. It takes one request at a time.
 */
export class WorkerThread<Request, Response> {
  readonly #options: WorkerThreadOptions
  #worker: Worker | undefined
  #isReady = false

  constructor(options: WorkerThreadOptions) {
    this.#options = options
  }

  /**
   * Fails with a reason, the end of a sentence, after the deadline or when the thread ends. The deadline excludes the start of the thread.
   *
   * The thread takes the buffers of `transfer` over, without a copy.
   *
   * A missed deadline and an interruption end a running thread, but not a starting one.
   */
  request(
    request: Request,
    deadline: Duration.Input,
    transfer: ReadonlyArray<ArrayBuffer> = []
  ): Effect.Effect<Response, string> {
    // Only a ready thread gets a request: the ready message of a starting thread would be taken for the response.
    const response = Effect.suspend(() =>
      this.#isRunning
        ? this.#awaitMessage<Response>((worker) => worker.postMessage(request, transfer), this.stop)
        : Effect.fail("its thread ended")
    )
    return Effect.andThen(
      this.start,
      Effect.timeoutOrElse(response, { duration: deadline, orElse: () => Effect.fail("it takes too long") })
    )
  }

  /** Waits until the thread has loaded its script. After an interruption the thread stays for the next request. */
  get start(): Effect.Effect<void, string> {
    return Effect.suspend(() => this.#isRunning ? Effect.void : this.#awaitMessage(() => {}, Effect.void))
  }

  get #isRunning(): boolean {
    return this.#worker !== undefined && this.#isReady
  }

  /** Waits for the next message of the thread. */
  #awaitMessage<Message>(
    begin: (worker: Worker) => void,
    onInterrupt: Effect.Effect<void>
  ): Effect.Effect<Message, string> {
    const worker = Effect.try({
      try: () => this.#getOrStart(),
      catch: (error) => `its thread could not be started (${String(error)})`
    })
    const nextMessage = (worker: Worker) =>
      Effect.callback<Message, string>((resume) => {
        const unsubscribe = () => void worker.off("message", onMessage).off("error", onLoss).off("exit", onLoss)
        const onMessage = (message: Message) => {
          unsubscribe()
          resume(Effect.succeed(message))
        }
        const onLoss = (reason: unknown) => {
          unsubscribe()
          resume(Effect.fail(`its thread ended (${String(reason)})`))
        }
        worker.on("message", onMessage).on("error", onLoss).on("exit", onLoss)
        begin(worker)
        return Effect.andThen(Effect.sync(unsubscribe), onInterrupt)
      })
    return Effect.flatMap(worker, nextMessage)
  }

  /** Ends the thread. A loading thread ends after loading, because Node 24 crashes when a thread is terminated during loading. */
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

  #getOrStart(): Worker {
    if (this.#worker !== undefined) return this.#worker
    this.#isReady = false
    const { hasLowPriority = false, name, script } = this.#options
    const worker = startWorker(script, name, resourceLimits, { hasLowPriority })
    const onLoss = () => {
      if (this.#worker === worker) this.#worker = undefined
    }
    worker.on("error", onLoss).on("exit", onLoss).once("message", () => {
      if (this.#worker === worker) this.#isReady = true
    })
    this.#worker = worker
    return worker
  }
}
