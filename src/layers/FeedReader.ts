import { Effect, Layer } from "effect"
import { readFeed } from "#domain/normalize/Document.ts"
import { FeedReader } from "#domain/ports/FeedReader.ts"

/** Reads every document where it is called. */
export const layerInline = Layer.succeed(FeedReader, {
  read: (bytes, options) => Effect.sync(() => readFeed(bytes, options))
})
