import { type Duration, Effect, Layer, Semaphore } from "effect"
import { Worker } from "node:worker_threads"
import { readFeed, type ReadOptions, type ReadResult } from "#domain/normalize/Document.ts"
import { FeedReader, ReaderError } from "#domain/ports/FeedReader.ts"
import type { Question } from "./feed-reader/worker.ts"

export interface Options {
  /** Documents of so many bytes and more go to the thread. */
  readonly largeFrom: number
  /** For reading one document in the thread, which may have to be started. */
  readonly deadline: Duration.Input
}

/**
 * Reads large documents in a thread of their own: none of them may hold up the polls of all others.
 *
 * Posting a small one costs more than reading it. A document that is not read within the deadline costs the thread its life, and so does
 * one that needs too much memory; the next large document gets a new thread.
 */
export const layerWith = ({ largeFrom, deadline }: Options): Layer.Layer<FeedReader> =>
  Layer.effect(
    FeedReader,
    Effect.gen(function*() {
      const thread = yield* Effect.acquireRelease(Effect.sync(() => new Thread()), (thread) => thread.stop)
      const turn = yield* Semaphore.make(1)
      const tooSlow = Effect.fail(new ReaderError({ message: "The document takes too long to read." }))
      const readLarge = (bytes: Uint8Array, options: ReadOptions) =>
        thread.read({ bytes, options }).pipe(
          Effect.timeoutOrElse({ duration: deadline, orElse: () => tooSlow }),
          turn.withPermits(1)
        )
      const read = Effect.fn("FeedReader.read")((bytes: Uint8Array, options: ReadOptions) =>
        bytes.length < largeFrom ? Effect.sync(() => readFeed(bytes, options)) : readLarge(bytes, options)
      )
      return FeedReader.of({ read })
    })
  )

export const layer = layerWith({ largeFrom: 500_000, deadline: "10 seconds" })

/** The thread, started when it is first needed and after each loss. */
class Thread {
  #worker: Worker | undefined

  /** Answers one question at a time; to interrupt it ends the thread. */
  read(question: Question): Effect.Effect<ReadResult, ReaderError> {
    return Effect.callback<ReadResult, ReaderError>((resume) => {
      const worker = this.#running()
      const answered = (result: ReadResult) => {
        worker.off("error", lost).off("exit", lost)
        resume(Effect.succeed(result))
      }
      const lost = (why: unknown) =>
        resume(
          Effect.fail(new ReaderError({ message: `The document cannot be read: its thread ended (${String(why)}).` }))
        )
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
    const worker = new Worker(new URL("./feed-reader/worker.ts", import.meta.url), {
      name: "feeds",
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 96 }
    })
    const forget = () => {
      if (this.#worker === worker) this.#worker = undefined
    }
    worker.on("error", forget).on("exit", forget)
    this.#worker = worker
    return worker
  }
}
