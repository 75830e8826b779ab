import { Context, type Effect, Schema } from "effect"
import { reasonOf } from "./Reason.ts"

/** A conditional GET. */
export interface FetchRequest {
  readonly url: string
  /** Sent verbatim as If-None-Match / If-Modified-Since. */
  readonly etag?: string
  readonly lastModified?: string
  /** Epoch ms: an answer to the same request that was asked for since then will do. Without it the answer is this request's own. */
  readonly since?: number
  /** Others will ask for the same: the answer is kept for them for some seconds. */
  readonly shared?: boolean
  /** Bytes after decompression, at most. */
  readonly maxBytes?: number
  /** Milliseconds for everything: redirects, headers and body. */
  readonly deadline?: number
}

/** The answer at the end of the redirects. */
export interface Fetched {
  /** Any HTTP status, errors included: what it means is the caller's matter. */
  readonly status: number
  /** Lower-case names; repeated headers joined by ", ". */
  readonly headers: { readonly [name: string]: string | undefined }
  /** Decompressed; empty for 304. */
  readonly body: Uint8Array
  /** xxh64 of `body`. */
  readonly signature: bigint
  readonly finalUrl: string
  /** Where a chain of only permanent redirects (301, 308) led. */
  readonly permanentUrl?: string
  /** Gives the memory of `body` back at once, from whoever does not need it any more: it is empty then. Absent where others have it too. */
  readonly release?: () => void
}

/**
 * No answer came. `kind` says at which stage, `message` says it in a sentence for the resource's status; neither holds credentials of the URL.
 */
export class FetchError extends Schema.TaggedError<FetchError>()("FetchError", {
  reason: reasonOf([
    "RefusedAddress",
    "Dns",
    "Connect",
    "Tls",
    "Timeout",
    "TooLarge",
    "Redirects",
    "Encoding",
    "Protocol"
  ])
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** Gets documents from the outside world, guarded: see `AddressGuard` for where it never goes. */
export class Fetcher extends Context.Service<Fetcher, {
  readonly fetch: (request: FetchRequest) => Effect.Effect<Fetched, FetchError>
}>()("windhover/domain/ports/Fetcher") {}
