import { Context, type Effect, Schema } from "effect"
import type { Feed } from "#domain/Feed.ts"
import type { Fingerprint } from "#domain/Fingerprint.ts"

export interface ReadOptions {
  /** As the server said it. */
  readonly contentType?: string
  /** Where the document came from: base of its relative URLs. */
  readonly url?: string
  /** Hashes of entry slices that need not be read again. */
  readonly seenSlices?: ReadonlySet<Fingerprint>
}

export type ReadResult =
  | {
    readonly _tag: "Feed"
    readonly feed: Feed
    /** Hashes of all entry slices, for the next time; undefined where the document cannot be cut. */
    readonly slices: ReadonlyArray<Fingerprint> | undefined
    /** Entries that were not read, since their slice was seen. */
    readonly skipped: number
  }
  | {
    readonly _tag: "NotFeed"
    readonly kind: "html" | "json" | "xml" | "other" | "empty"
    /** What is wrong with it as a feed, for a person. */
    readonly reason: string
  }

/** Reading took too long, or too much memory: a document made to do so. */
export class ReaderError extends Schema.TaggedError<ReaderError>()("ReaderError", { message: Schema.String }) {}

/** Reads a document as a feed; large ones beside the event loop. */
export class FeedReader extends Context.Service<FeedReader, {
  readonly read: (bytes: Uint8Array, options: ReadOptions) => Effect.Effect<ReadResult, ReaderError>
}>()("windhover/domain/ports/FeedReader") {}
