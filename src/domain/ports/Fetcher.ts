import { Context, type Effect, Schema } from "effect"
import { reasonOf } from "./Reason.ts"

/** A conditional GET. */
export interface FetchRequest {
  readonly url: string
  /** Sent verbatim as If-None-Match / If-Modified-Since. */
  readonly etag?: string
  readonly lastModified?: string
  /** Epoch ms: an answer to the same request may be shared when its fetch began later. Undefined for an answer of its own. */
  readonly since?: number
  /** True when similar requests follow: the answer stays in memory for them for some seconds. */
  readonly shared?: boolean
  /** Only strangers watch the resource: each exchange waits for its turn at the host and at the address that is asked. */
  readonly strangersOnly?: boolean
  /** Maximum of bytes after decompression. */
  readonly maxBytes?: number
  /** Milliseconds for redirects, headers and body together. */
  readonly deadline?: number
}

/** The answer behind all redirects. */
export interface Fetched {
  /** Any HTTP status, errors included. */
  readonly status: number
  /** Lower-case names; repeated headers joined by ", ". */
  readonly headers: { readonly [name: string]: string | undefined }
  /** Decompressed; empty for 304. */
  readonly body: Uint8Array
  /** xxh64 of `body`. */
  readonly signature: bigint
  readonly finalUrl: string
  /** Address of the server, for a document of strangers. */
  readonly server?: string | undefined
  /** End of a chain of permanent redirects only (301, 308). */
  readonly permanentUrl?: string
  /** Frees the memory of `body` at once and empties it. Absent for a shared body. */
  readonly release?: () => void
  /** Returns the room of the document to `DocumentMemory`. Called once nothing of the document is under way; absent without a body. */
  readonly returnRoom?: () => void
}

/**
 * A fetch without an answer. The tag names the stage, and `message` is a sentence for the resource's status, without credentials of the URL.
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

/** Fetches documents over HTTP. `AddressGuard` lists the refused addresses. */
export class Fetcher extends Context.Service<Fetcher, {
  readonly fetch: (request: FetchRequest) => Effect.Effect<Fetched, FetchError>
}>()("windhover/domain/ports/Fetcher") {}
