import { Context, type Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Outline } from "#domain/ports/Selector.ts"
import type { Refusal } from "#domain/Refusal.ts"

export interface InspectRequest {
  readonly caller: Caller
  /** As received, unchecked. A fragment counts as `path` where there is no path. */
  readonly url: string
  /** CSS path, or JSONPath if it begins with `$`. */
  readonly path?: string
}

/** The newest entry of a feed. Texts are plain. */
export interface EntryGlimpse {
  readonly title: string
  readonly link?: string
  /** Epoch ms. */
  readonly published?: number
}

/** A feed that a page advertises. */
export interface AdvertisedFeed {
  readonly url: string
  readonly title?: string
  readonly entries?: number
  readonly newest?: EntryGlimpse
  /** A sentence that tells why the feed cannot be read. */
  readonly problem?: string
}

/** The text that a subscription would get, or its beginning. */
export interface SelectedText {
  readonly matches: number
  readonly contentType: string
  readonly text: string
  readonly isCut: boolean
}

/** A document as its server sends it now. */
export interface Inspection {
  /** The URL without a fragment. */
  readonly url: string
  readonly finalUrl: string
  /** HTTP status; 0 without an answer. */
  readonly code: number
  readonly contentType?: string
  readonly bytes: number
  readonly kind: "feed" | "html" | "xml" | "json" | "other" | "empty" | "unreachable"
  /** A sentence that tells why nothing can be read. */
  readonly problem?: string
  /** Of a feed. */
  readonly title?: string
  readonly entries?: number
  readonly newest?: EntryGlimpse
  /** Of a page, at most 5. */
  readonly feeds?: ReadonlyArray<AdvertisedFeed>
  /** Of a page or of JSON. */
  readonly outline?: Outline
  readonly selected?: SelectedText
  /** A sentence that tells why the path selects nothing. */
  readonly pathProblem?: string
  /** The beginning of the body, if it is text. */
  readonly body?: string
  readonly isBodyCut?: boolean
}

/** Looks at a URL before a subscription: its kind, its feeds, its text, and the part that a path selects. */
export class Inspector extends Context.Service<Inspector, {
  /** At most 30 documents a minute for one account. Addresses that Windhover never fetches are refused. */
  readonly inspect: (request: InspectRequest) => Effect.Effect<Inspection, Refusal>
}>()("windhover/actors/operations/Inspector") {}
