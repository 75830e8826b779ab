import { type Duration, Effect, Layer } from "effect"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"
import { FeedReader, ReaderError } from "#domain/ports/FeedReader.ts"
import { collectGarbage } from "#layers/GarbageCollection.ts"
import { joinParts, type ResultPart } from "#layers/workers/feed-reader/ResultParts.ts"
import type { ReadRequest } from "#layers/workers/feed-reader/worker.ts"
import * as WorkerLanes from "./WorkerLanes.ts"

export interface FeedReaderOptions {
  /** Minimum size of a document for the thread, in bytes. */
  readonly threadFromBytes: number
  /** The same for documents that only strangers watch; the minimum of accounts by default. */
  readonly strangersThreadFromBytes?: number
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
export const layerWith = (
  { deadline, strangersThreadFromBytes, threadFromBytes }: FeedReaderOptions
): Layer.Layer<FeedReader> =>
  Layer.effect(
    FeedReader,
    Effect.gen(function*() {
      const lanes = yield* WorkerLanes.make<ReadRequest, ResultPart>({ script, name: "feeds" })
      const minBytes = { accounts: threadFromBytes, strangers: strangersThreadFromBytes ?? threadFromBytes }
      return FeedReader.of({
        read: (bytes, options, turn) => {
          const { isForStrangers } = turn
          if (bytes.length >= (isForStrangers ? minBytes.strangers : minBytes.accounts)) {
            return lanes.run(turn, (request) => readAllParts(request, bytes, options, deadline))
          }
          return isForStrangers
            ? lanes.count(turn, () => readFeed(bytes, options))
            : Effect.sync(() => readFeed(bytes, options))
        }
      })
    })
  )

export const layer = layerWith({
  threadFromBytes: 500_000,
  strangersThreadFromBytes: 100_000,
  deadline: "10 seconds"
})

const script = new URL(import.meta.resolve("#layers/workers/feed-reader/worker.ts"))

/** Fetches the parts one after the other, so that the event loop turns between them. */
const readAllParts = Effect.fnUntraced(function*(
  request: WorkerLanes.RequestThread<ReadRequest, ResultPart>,
  document: Uint8Array,
  options: ReadOptions,
  deadline: Duration.Input
) {
  if (document.length >= collectFromBytes) collectGarbage()
  const bytes = new Uint8Array(document)
  const entries: Array<RawEntry> = []
  let part = yield* request({ bytes, options }, deadline, [bytes.buffer])
  while (part.result === undefined) {
    entries.push(...part.entries)
    part = yield* request("more", deadline)
  }
  return joinParts(part.result, [...entries, ...part.entries])
}, Effect.mapError((reason) => new ReaderError({ message: `The document cannot be read: ${reason}.` })))
