import { Clock, type Duration, Effect, Layer } from "effect"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"
import type { WorkerTurn } from "#domain/poll/WorkerTurn.ts"
import { FeedReader, ReaderError } from "#domain/ports/FeedReader.ts"
import { collectGarbage } from "#layers/GarbageCollection.ts"
import { joinParts, type ResultPart } from "#layers/workers/feed-reader/ResultParts.ts"
import type { ReadRequest } from "#layers/workers/feed-reader/worker.ts"
import { WorkerThread } from "./WorkerThread.ts"
import { WorkerTurns } from "./WorkerTurns.ts"

export interface FeedReaderOptions {
  /** Minimum size of a document for the thread, in bytes. */
  readonly threadFromBytes: number
  /** Time for one part of one document in the thread. */
  readonly deadline: Duration.Input
}

/**
 * Before a document with more bytes, this process collects its garbage.
 *
 * The entries of the last large documents are old objects, which the engine would keep beside those of the next one. A collection takes some
 * 50 ms, reading such a document more than a second.
 */
const collectFromBytes = 8 * 1024 * 1024

/**
 * Reads large documents in threads, so that no document delays the polls of the others. Documents for accounts have a thread of their own.
 *
 * Posting a small document costs more than reading it. The thread ends when a document misses the deadline or needs too much memory. The
 * next large document then starts a new thread.
 */
export const layerWith = ({ deadline, threadFromBytes }: FeedReaderOptions): Layer.Layer<FeedReader> =>
  Layer.effect(
    FeedReader,
    Effect.gen(function*() {
      const forAccounts = yield* makeLane
      const forStrangers = yield* makeLane
      const readInThread = (bytes: Uint8Array, options: ReadOptions, { isForStrangers, key }: WorkerTurn) => {
        const { thread, turns } = isForStrangers ? forStrangers : forAccounts
        const read = Effect.mapError(
          Effect.suspend(() => {
            if (bytes.length >= collectFromBytes) collectGarbage()
            return readAllParts(thread, { bytes: new Uint8Array(bytes), options }, deadline)
          }),
          (reason) => new ReaderError({ message: `The document cannot be read: ${reason}.` })
        )
        return turns.run(key, read)
      }
      return FeedReader.of({
        read: (bytes, options, turn) =>
          bytes.length < threadFromBytes
            ? Effect.sync(() => readFeed(bytes, options))
            : readInThread(bytes, options, turn)
      })
    })
  )

export const layer = layerWith({ threadFromBytes: 500_000, deadline: "10 seconds" })

/** Fetches the parts one after the other, so that the event loop turns between them. */
const readAllParts = Effect.fnUntraced(function*(
  thread: WorkerThread<ReadRequest, ResultPart>,
  request: Extract<ReadRequest, object>,
  deadline: Duration.Input
) {
  const entries: Array<RawEntry> = []
  let part = yield* thread.request(request, deadline, [request.bytes.buffer])
  while (part.result === undefined) {
    entries.push(...part.entries)
    part = yield* thread.request("more", deadline)
  }
  return joinParts(part.result, [...entries, ...part.entries])
})

/** A thread and its turns. The thread starts with its first document. */
const makeLane = Effect.gen(function*() {
  const thread = yield* Effect.acquireRelease(Effect.sync(makeThread), (thread) => thread.stop)
  return { thread, turns: new WorkerTurns(yield* Clock.Clock) }
})

const makeThread = () =>
  new WorkerThread<ReadRequest, ResultPart>({
    script: new URL(import.meta.resolve("#layers/workers/feed-reader/worker.ts")),
    name: "feeds"
  })
