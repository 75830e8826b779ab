import { anonymous } from "#domain/Account.ts"
import type { Trial } from "#domain/delivery/Bounce.ts"
import type { OwnHeader } from "#domain/delivery/OwnHeaders.ts"
import type { Failing, Retry } from "#domain/delivery/Retry.ts"
import type { Labels } from "#domain/Labels.ts"
import type { ResourceKind } from "#domain/poll/Resource.ts"

/** Format of notifications. Without a format, resources other than feeds are sent as their own bytes. */
export type Format = "atom" | "json"

/** The API of the subscription: see "Two faces" in the documentation. */
export type Face = "api" | "hub"

/** Channel of the notifications: a callback, a JID, or the null device (`{base_url}/dev/null`). */
export type Channel = "webhook" | "xmpp" | "null"

/** `pending`: the intent is not verified yet. `paused`: the receiver is unreachable, or the operator has paused it. Only trials are sent. Ended subscriptions are deleted. */
export type SubscriptionState = "pending" | "active" | "paused"

/** HMAC methods for subscribers to choose from; section 8.1 of WebSub. */
export const signatureMethods = ["sha1", "sha256", "sha384", "sha512"] as const

export type SignatureMethod = typeof signatureMethods[number]

export interface Subscription {
  readonly id: number
  readonly accountId: number
  readonly resourceId: number
  /** Byte for byte in the spelling of the subscriber. */
  readonly topic: string
  readonly channel: Channel
  /** Callback URL or bare JID. */
  readonly endpoint: string
  /** Host of the callback, domain of the JID. */
  readonly host: string
  /** Undefined for Atom with feeds, and raw bytes with other resources. */
  readonly format?: Format
  /** The format comes from the `Accept` header of the client, and applies to feeds only. */
  readonly feedsOnly?: boolean
  readonly secret?: string
  /** Signs beside `secret` until `previousSecretUntil` (epoch ms), so that receivers can change to the new secret one by one. */
  readonly previousSecret?: string
  readonly previousSecretUntil?: number
  /** Headers of the subscriber's own, sent with each notification. */
  readonly headers?: ReadonlyArray<OwnHeader>
  /** Words of the subscriber's own; absent without any. */
  readonly labels?: Labels
  /** Why the stored secret or headers cannot be decrypted. Deliveries fail meanwhile, because they would be unsigned. */
  readonly unreadable?: string
  /** Undefined for SHA-1, which every subscriber knows, with SHA-256 beside it. */
  readonly signature?: SignatureMethod
  /** The choice of the subscriber; undefined for the default of the face. */
  readonly retry?: Retry
  readonly face: Face
  readonly state: SubscriptionState
  /** Network of the address at which the callback last agreed; on the hub face only. */
  readonly network?: string
  /** Network of the client that asked for the subscription last; on the hub face only. The fetches of the topic count for this network. */
  readonly asker?: string
  /** Only when loaded for deliveries. */
  readonly trial?: Trial
  /** Absent while the last attempt has succeeded. */
  readonly failing?: Failing
  /** End of a lease, epoch ms; the subscription counts as ended from then on. */
  readonly leaseUntil?: number
  readonly createdAt: number
}

/** Whether a stranger owns the subscription, through the open hub. */
export const isOfStranger = ({ accountId }: Pick<Subscription, "accountId">): boolean =>
  accountId === anonymous.account.id

/** The format in lists: Atom for a feed without a requested format, null for the raw bytes of other resources. */
export const shownFormat = (
  { feedsOnly, format }: Pick<Subscription, "feedsOnly" | "format">,
  { kind }: { readonly kind: ResourceKind }
): Format | null => {
  if (kind === "feed" || kind === "unknown") return format ?? "atom"
  return feedsOnly === true ? null : format ?? null
}

/** Maximum of characters in a `hub.callback`. */
export const maxCallbackLength = 2048
