import { Context, type Effect } from "effect"
import type { Bounce } from "#domain/delivery/Bounce.ts"
import type { Caller } from "#domain/Account.ts"
import type { OwnHeader } from "#domain/delivery/OwnHeaders.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { EntryOrder } from "#domain/ports/EntryStore.ts"
import type { BriefItem, BriefQuery, ListQuery, SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Search } from "#domain/Search.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { Presence } from "./Presences.ts"
import type { Listeners } from "#actors/stream/Listeners.ts"
import type { HubCallbacks } from "./HubCallbacks.ts"
import type { Retry } from "#domain/delivery/Retry.ts"
import type { Face, Format, SignatureMethod } from "#domain/Subscription.ts"

export interface SubscribeRequest {
  readonly caller: Caller
  /** As received, unchecked. */
  readonly topic: string
  readonly callback: string
  readonly format?: Format
  /** The format applies to feeds only, see `Subscription`. */
  readonly feedsOnly?: boolean
  readonly secret?: string
  /** Time for which a stored, different secret goes on signing. */
  readonly secretGraceSeconds?: number
  /** As received, unchecked; API face. Undefined keeps the stored headers. */
  readonly headers?: ReadonlyArray<OwnHeader>
  /** As received, unchecked; API face. Undefined keeps the stored labels. */
  readonly labels?: ReadonlyArray<string>
  readonly verify?: "sync" | "async"
  readonly verifyToken?: string
  readonly face: Face
  /** Requested lease in seconds; hub face. */
  readonly leaseSeconds?: number
  /** Requested HMAC method; hub face. */
  readonly signature?: SignatureMethod
  /** Requested retries; undefined for the default of the face. */
  readonly retry?: Retry
  /**
   * For a page that advertises feeds, on the API face. True: subscribe to its first feed. False: subscribe to the page itself.
   * Undefined: refuse the request, and name the feeds.
   */
  readonly discover?: boolean
  /** Address of the client; hub face. */
  readonly address?: string
  /** Fetch a resource without an earlier fetch before the response, within 5 s. */
  readonly retrieve: boolean
}

/** Subscribes one JID to several resources. */
export interface JidSubscribeRequest {
  readonly caller: Caller
  /** The XMPP face has checked that the JID is the caller's. */
  readonly jid: { readonly bare: string; readonly domain: string }
  readonly resources: ReadonlyArray<{ readonly topic: string; readonly format?: Format }>
  /** Wait for the first fetch of new resources, at most 4 s in all, so that their statuses have an HTTP code. */
  readonly awaitFirstStatus?: boolean
}

export interface UnsubscribeRequest {
  readonly caller: Caller
  readonly topic: string
  /** Optional while the account has a single subscription to the topic. */
  readonly callback?: string
  readonly verify?: "sync" | "async"
  readonly verifyToken?: string
  readonly face: Face
  /** Address of the client; hub face. */
  readonly address?: string
}

export interface ListRequest extends Omit<ListQuery, "accountId"> {
  readonly caller: Caller
  /** Adds the presence of JIDs. */
  readonly presence?: boolean
}

export interface BriefListRequest extends Omit<BriefQuery, "accountId"> {
  readonly caller: Caller
}

/** Maximum of feeds that one retrieve reads together. */
export const maxRetrievedFeeds = 199

export interface RetrieveRequest {
  readonly caller: Caller
  /** Wins over `search`, and `search` over `callback`. */
  readonly topic?: string
  readonly callback?: string
  /** Selects the feeds of all matching subscriptions. */
  readonly search?: Search
  /** 0 to 50. With 0 the representation has neither entries nor a document. */
  readonly count: number
  readonly before?: string
  readonly after?: string
  /** Ids of the wanted entries, at most 50; replaces `count`, `before` and `after`. */
  readonly ids?: ReadonlyArray<string>
  /** Default `published`. */
  readonly order?: EntryOrder
  /** False: respond at once, even before the first fetch of a new resource. */
  readonly awaitDocument?: boolean
}

export interface ReplayRequest {
  readonly caller: Caller
  readonly topic: string
  readonly callback: string
  /** Number of entries, 1 to 50. Other resources are sent whole. */
  readonly count: number
  /** Respond when the notification is queued, without waiting for the callback. */
  readonly async: boolean
}

export interface PublishOptions {
  /** Undefined for pings through the open hub. */
  readonly accountId?: number
  /** The document of the only topic. */
  readonly content?: PushedDocument
  /** False when the ping log is too large for another row. */
  readonly recorded?: boolean
}

/** The stored content of one resource, or of all resources of a callback together. */
export interface Representation {
  readonly status: Status
  readonly header?: FeedHeader
  /** Newest first; empty for resources that are no feeds. */
  readonly entries: ReadonlyArray<Entry>
  readonly document?: Document
  /** The format of the subscription. */
  readonly format?: Format
  /** Entries of several feeds: each has its `source`, and `status.feed` is the URL of the retrieve. */
  readonly isCombined?: true
}

/** A subscription as a list shows it. */
export interface ListedSubscription extends SubscriptionItem {
  /** Only with `presence`, for subscriptions by XMPP. */
  readonly presence?: Presence
}

export interface SubscribeOutcome {
  /** `done`: 204, or 200 with a representation. `pending`: 202, and the callback is verified in the background. */
  readonly outcome: "done" | "pending"
  /** The feed that was subscribed to in place of the requested page. */
  readonly discovered?: string
  /** Only with `retrieve`. */
  readonly representation?: Representation
}

/** The past of a follow, and the cursors behind it. */
export interface FollowStart {
  readonly past: Representation
  /** Sequence of the last notification that `past` contains, by resource. */
  readonly heads: ReadonlyMap<number, number>
  /** Topics by resource, as the subscriber spells them. */
  readonly topics: ReadonlyMap<number, string>
}

/**
 * The operations of the service, for every face and protocol.
 *
 * Operations check their parameters. The faces check rights with `requireRight`.
 */
export class Hub extends Context.Service<Hub, {
  readonly subscribe: (request: SubscribeRequest) => Effect.Effect<SubscribeOutcome, Refusal>
  /** All resources or none; returns their statuses in the same order. */
  readonly subscribeJid: (request: JidSubscribeRequest) => Effect.Effect<ReadonlyArray<Status>, Refusal>
  readonly unsubscribe: (request: UnsubscribeRequest) => Effect.Effect<"done" | "pending", Refusal>
  /** `byPage` 1 to 500. */
  readonly list: (
    request: ListRequest
  ) => Effect.Effect<{ readonly items: ReadonlyArray<ListedSubscription>; readonly total: number | undefined }, Refusal>
  /** A page of `list` without counts, with a few fields of each subscription. `byPage` 1 to 500. */
  readonly listBriefly: (request: BriefListRequest) => Effect.Effect<ReadonlyArray<BriefItem>, Refusal>
  readonly retrieve: (request: RetrieveRequest) => Effect.Effect<Representation, Refusal>
  /** Sends the newest content to a callback again, and fails when the callback does not accept the notification. */
  readonly replay: (request: ReplayRequest) => Effect.Effect<void, Refusal>
  /** A retrieve with cursors: notifications behind `heads` are new, and none is missing between them and `past`. */
  readonly follow: (request: RetrieveRequest) => Effect.Effect<FollowStart, Refusal>
  /** Hands a listener all notifications behind its cursors; see `Listeners`. */
  readonly attach: Listeners["Service"]["attach"]
  /**
   * A publisher's ping: each topic is fetched soon, and unwatched topics are accepted as well.
   *
   * The pings are rows when the effect returns, so that a fetch answers them even after a crash.
   */
  readonly publish: (topics: ReadonlyArray<string>, options?: PublishOptions) => Effect.Effect<void, Refusal>
  /** Marks, pauses or ends the subscription of a returned notification. */
  readonly recordBounce: (bounce: Bounce) => Effect.Effect<void>
  /** Resumes the paused subscriptions of a JID that has shown a sign of life. False while the database is unavailable. */
  readonly resumeJid: (jid: string) => Effect.Effect<boolean>
  /** The same for all addresses of a domain, among the subscriptions of one account. */
  readonly resumeDomain: (accountId: number, domain: string) => Effect.Effect<boolean>
  /** Requests of publishers' hubs to this service as their subscriber. */
  readonly confirmIntent: HubCallbacks["confirmIntent"]
  readonly findReceiver: HubCallbacks["findReceiver"]
  readonly acceptPush: HubCallbacks["acceptPush"]
  /** True when the partitions of this runner are awake (`/readyz`). */
  readonly ready: Effect.Effect<boolean>
}>()("windhover/actors/operations/Hub") {}
