import { type Duration, Effect, Layer, Semaphore } from "effect"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"
import { FeedReader, ReaderError } from "#domain/ports/FeedReader.ts"
import { joinParts, type ResultPart } from "#layers/workers/feed-reader/Parts.ts"
import type { ReadRequest } from "#layers/workers/feed-reader/worker.ts"
import { WorkerThread } from "./WorkerThread.ts"

export interface FeedReaderOptions {
  /** Documents of so many bytes and more go to the thread. */
  readonly largeFrom: number
  /** For reading one document in the thread. */
  readonly deadline: Duration.Input
  /** From the beginning until the thread is started ahead; undefined = when the first large document comes. */
  readonly startAfter?: Duration.Input
}

/**
 * Reads large documents in a thread of their own: none of them may hold up the polls of all others.
 *
 * Posting a small one costs more than reading it. A document that is not read within the deadline costs the thread its life, and so does
 * one that needs too much memory; the next large document gets a new thread.
 */
export const layerWith = ({ largeFrom, deadline, startAfter }: FeedReaderOptions): Layer.Layer<FeedReader> =>
  Layer.effect(
    FeedReader,
    Effect.gen(function*() {
      const thread = yield* Effect.acquireRelease(Effect.sync(newThread), (thread) => thread.stop)
      const turn = yield* Semaphore.make(1)
      // To start it takes longer than to read most large documents, and a service has time for that right after its own start; not during it,
      // when the database and the service already have a core each.
      if (startAfter !== undefined) {
        yield* thread.start.pipe(Effect.ignore, turn.withPermits(1), Effect.delay(startAfter), Effect.forkScoped)
      }
      const readLarge = (bytes: Uint8Array, options: ReadOptions) =>
        allParts(thread, { bytes, options }, deadline).pipe(
          Effect.mapError((why) => new ReaderError({ message: `The document cannot be read: ${why}.` })),
          turn.withPermits(1)
        )
      return FeedReader.of({
        read: (bytes, options) =>
          bytes.length < largeFrom ? Effect.sync(() => readFeed(bytes, options)) : readLarge(bytes, options)
      })
    })
  )

export const layer = layerWith({ largeFrom: 500_000, deadline: "10 seconds", startAfter: "10 seconds" })

type Thread = WorkerThread<ReadRequest, ResultPart>

/** One part after the other: between them the event loop turns. */
const allParts = Effect.fnUntraced(function*(thread: Thread, question: ReadRequest, deadline: Duration.Input) {
  const late = "it takes too long"
  const entries: Array<RawEntry> = []
  let part = yield* thread.ask(question, deadline, late)
  while (part.result === undefined) {
    entries.push(...part.entries)
    part = yield* thread.ask("more", deadline, late)
  }
  return joinParts(part.result, [...entries, ...part.entries])
})

const newThread = () =>
  new WorkerThread<ReadRequest, ResultPart>({
    script: new URL("./feed-reader/worker.ts", import.meta.url),
    name: "feeds",
    maxOldGenerationSizeMb: 512,
    maxYoungGenerationSizeMb: 96
  })
