/** The thread that reads large documents for `FeedReader`: one after the other, in the order in which they were asked for. */
import { parentPort } from "node:worker_threads"
import { readFeed, type ReadOptions } from "#domain/normalize/Document.ts"

/** What the thread is asked. */
export interface Question {
  readonly bytes: Uint8Array
  readonly options: ReadOptions
}

parentPort?.on("message", ({ bytes, options }: Question) => parentPort?.postMessage(readFeed(bytes, options)))
