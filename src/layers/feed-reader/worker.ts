/** The thread that reads large documents for `FeedReader`. */
import { answering } from "#layers/WorkerThread.ts"
import { readFeed, type ReadOptions, type ReadResult } from "#domain/normalize/Document.ts"

/** What the thread is asked. */
export interface Question {
  readonly bytes: Uint8Array
  readonly options: ReadOptions
}

answering(({ bytes, options }: Question): ReadResult => readFeed(bytes, options))
