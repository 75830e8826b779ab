import type { Trial } from "#domain/delivery/Bounce.ts"
import type { ResourceKind } from "#domain/poll/Resource.ts"

/** `raw` sends a resource's own bytes: the default for what is no feed. */
export type Format = "atom" | "json"

/** Which API it was made through: see "Two faces" in the documentation. */
export type Face = "api" | "hub"

/** How notifications leave: to a callback, to a JID, or not at all (`{base_url}/dev/null`). */
export type Channel = "webhook" | "xmpp" | "null"

/** Pending: the intent is not verified yet. Paused: nothing reaches its receiver, and nothing is sent but a trial now and then. Ended ones are deleted. */
export type SubscriptionState = "pending" | "active" | "paused"

/** HMAC methods that a subscriber may choose from; see section 8.1 of WebSub. */
export const signatureMethods = ["sha1", "sha256", "sha384", "sha512"] as const

export type SignatureMethod = typeof signatureMethods[number]

export interface Subscription {
  readonly id: number
  readonly accountId: number
  readonly resourceId: number
  /** Byte for byte as the subscriber wrote it. */
  readonly topic: string
  readonly channel: Channel
  /** Callback URL or bare JID. */
  readonly endpoint: string
  /** Host of the callback, domain of the JID. */
  readonly host: string
  /** Undefined: Atom for feeds, raw bytes for everything else. */
  readonly format?: Format
  /** The format is one that the client takes (`Accept`), asked for by nobody: it is for feeds alone. */
  readonly feedsOnly?: boolean
  readonly secret?: string
  /** Undefined: SHA-1, as every subscriber knows it, with SHA-256 beside it. */
  readonly signature?: SignatureMethod
  readonly face: Face
  readonly state: SubscriptionState
  /** Known where it is loaded to be sent to. */
  readonly trial?: Trial
  /** End of a hub-face lease, epoch ms; from then on it counts as ended. */
  readonly leaseUntil?: number
  readonly createdAt: number
}

/** The format that a list shows: a feed for which none was asked for is sent as Atom, anything else as it is (null). */
export const shownFormat = (
  { feedsOnly, format }: Pick<Subscription, "feedsOnly" | "format">,
  { kind }: { readonly kind: ResourceKind }
): Format | null => {
  if (kind === "feed" || kind === "unknown") return format ?? "atom"
  return feedsOnly === true ? null : format ?? null
}

/** Characters of a `hub.callback`, at most. */
export const maxCallbackLength = 250
