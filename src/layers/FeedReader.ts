import { type Duration, Effect, Layer, Semaphore } from "effect"
import { readFeed, type ReadOptions, type ReadResult } from "#domain/normalize/Document.ts"
import { FeedReader, ReaderError } from "#domain/ports/FeedReader.ts"
import type { Question } from "./feed-reader/worker.ts"
import { WorkerThread } from "./WorkerThread.ts"

export interface Options {
  /** Documents of so many bytes and more go to the thread. */
  readonly largeFrom: number
  /** For reading one document in the thread. */
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
      const thread = yield* Effect.acquireRelease(Effect.sync(newThread), (thread) => thread.stop)
      const turn = yield* Semaphore.make(1)
      const readLarge = (bytes: Uint8Array, options: ReadOptions) =>
        thread.ask({ bytes, options }, deadline, "it takes too long").pipe(
          Effect.mapError((why) => new ReaderError({ message: `The document cannot be read: ${why}.` })),
          turn.withPermits(1)
        )
      const read = Effect.fn("FeedReader.read")((bytes: Uint8Array, options: ReadOptions) =>
        bytes.length < largeFrom ? Effect.sync(() => readFeed(bytes, options)) : readLarge(bytes, options)
      )
      return FeedReader.of({ read })
    })
  )

export const layer = layerWith({ largeFrom: 500_000, deadline: "10 seconds" })

const newThread = () =>
  new WorkerThread<Question, ReadResult>({
    script: new URL("./feed-reader/worker.ts", import.meta.url),
    name: "feeds",
    maxOldGenerationSizeMb: 512,
    maxYoungGenerationSizeMb: 96
  })
