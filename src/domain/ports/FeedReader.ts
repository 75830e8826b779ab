import { Context, type Effect, Schema } from "effect"
import type { WorkerTurn } from "#domain/poll/WorkerTurn.ts"
import type { ReadOptions, ReadResult } from "#domain/normalize/ReadFeed.ts"

/** Reading exceeded its time or memory, as with a hostile document. */
export class ReaderError extends Schema.TaggedError<ReaderError>()("ReaderError", { message: Schema.String }) {}

/** Reads a document as a feed; large documents in a worker thread. */
export class FeedReader extends Context.Service<FeedReader, {
  readonly read: (bytes: Uint8Array, options: ReadOptions, turn: WorkerTurn) => Effect.Effect<ReadResult, ReaderError>
}>()("windhover/domain/ports/FeedReader") {}

export type { ReadOptions, ReadResult }
