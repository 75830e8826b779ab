import { Context, type Effect, type Scope } from "effect"
import type { Bounce } from "#domain/delivery/Bounce.ts"
import type { Caller } from "#domain/Account.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { ListQuery, SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Search } from "#domain/Search.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { Presence } from "./Presences.ts"
import type { Listener } from "./Listeners.ts"
import type { HubCallbacks } from "./HubCallbacks.ts"
import type { Face, Format, SignatureMethod } from "#domain/Subscription.ts"

export interface SubscribeRequest {
  readonly caller: Caller
  /** As received; not checked yet. */
  readonly topic: string
  readonly callback: string
  readonly format?: Format
  /** The format is for feeds alone, see `Subscription`. */
  readonly feedsOnly?: boolean
  readonly secret?: string
  readonly verify?: "sync" | "async"
  readonly verifyToken?: string
  readonly face: Face
  /** Hub face: the lease that is wished for, in seconds, and how to sign. */
  readonly leaseSeconds?: number
  readonly signature?: SignatureMethod
  /** Of a page that advertises feeds: subscribe to the first of them, or to the page itself; undefined: refuse, and name them. API face. */
  readonly discover?: boolean
  /** Fetch a resource that was never fetched before answering (5 s at most). */
  readonly retrieve: boolean
}

/** Resources that one JID subscribes to together. */
export interface JidSubscribeRequest {
  readonly caller: Caller
  /** Checked: it is the caller's. */
  readonly jid: { readonly bare: string; readonly domain: string }
  readonly resources: ReadonlyArray<{ readonly topic: string; readonly format?: Format }>
}

export interface UnsubscribeRequest {
  readonly caller: Caller
  readonly topic: string
  /** May be missing when the account has a single subscription to the topic. */
  readonly callback?: string
  readonly verify?: "sync" | "async"
  readonly verifyToken?: string
  readonly face: Face
}

/** So many feeds, at least, are too many for one retrieve. */
export const tooManyFeeds = 200

export interface RetrieveRequest {
  readonly caller: Caller
  /** It decides where the others are given as well. */
  readonly topic?: string
  readonly callback?: string
  /** In place of a callback: the subscriptions whose feeds are meant. */
  readonly search?: Search
  readonly count: number
  readonly before?: string
  readonly after?: string
}

export interface ReplayRequest {
  readonly caller: Caller
  readonly topic: string
  readonly callback: string
  /** Entries that are sent, 1 to 50; a resource that is no feed is sent whole. */
  readonly count: number
  /** Answers when the notification is queued, and not when the callback has taken it. */
  readonly async: boolean
}

/** What is known of a ping besides its topics. */
export interface PublishOptions {
  /** Undefined: through the open hub. */
  readonly accountId?: number
  /** The document of the one topic. */
  readonly content?: PushedDocument
  /** False: there are so many already that the record would fill the disk. */
  readonly recorded?: boolean
}

/** What is stored of one resource (or, for a callback with several topics, of all of them together). */
export interface Representation {
  readonly status: Status
  readonly header?: FeedHeader
  /** Newest first; empty for resources that are no feeds. */
  readonly entries: ReadonlyArray<Entry>
  readonly document?: Document
  /** The format that the subscription was made with. */
  readonly format?: Format
}

/** A subscription as a list shows it. */
export interface ListedSubscription extends SubscriptionItem {
  /** With `presence` only, of those by XMPP. */
  readonly presence?: Presence
}

/** Done (204, or 200 with the representation); `pending`: the callback is asked in the background (202). */
export interface SubscribeOutcome {
  readonly outcome: "done" | "pending"
  /** What is subscribed to in place of the page that was asked for. */
  readonly discovered?: string
  /** With `retrieve` only. */
  readonly representation?: Representation
}

/** What a retrieve gives, and where to listen on from. */
export interface FollowStart {
  readonly past: Representation
  /** Sequence of the last notification that `past` holds, by resource. */
  readonly heads: ReadonlyMap<number, number>
  /** The resources by id, as the subscriber wrote their topics. */
  readonly topics: ReadonlyMap<number, string>
}

/** The operations, for every face and protocol. Checks parameters; who may call is checked by `requireRight` of the face. */
export class Hub extends Context.Service<Hub, {
  readonly subscribe: (request: SubscribeRequest) => Effect.Effect<SubscribeOutcome, Refusal>
  /** All of them or none; returns their statuses in the same order. */
  readonly subscribeJid: (request: JidSubscribeRequest) => Effect.Effect<ReadonlyArray<Status>, Refusal>
  readonly unsubscribe: (request: UnsubscribeRequest) => Effect.Effect<"done" | "pending", Refusal>
  /** `byPage` 1 to 500. */
  readonly list: (
    request: Omit<ListQuery, "accountId"> & { readonly caller: Caller; readonly presence?: boolean }
  ) => Effect.Effect<{ readonly items: ReadonlyArray<ListedSubscription>; readonly total: number | undefined }, Refusal>
  readonly retrieve: (request: RetrieveRequest) => Effect.Effect<Representation, Refusal>
  /** Sends the newest content to a callback once more; fails when the callback does not take it. */
  readonly replay: (request: ReplayRequest) => Effect.Effect<void, Refusal>
  /** A retrieve that can be gone on from: what is told behind `heads` is not in `past`, and nothing is between them. */
  readonly follow: (request: RetrieveRequest) => Effect.Effect<FollowStart, Refusal>
  /** Hears what is told, from its cursors on; see `Listeners`. */
  readonly listen: (listener: Listener) => Effect.Effect<() => void, never, Scope.Scope>
  /**
   * The publisher's ping: each topic is fetched soon. Topics that nobody watches are no failure. When it returns, the pings are rows:
   * whatever happens to the process, they are answered by a fetch.
   */
  readonly publish: (topics: ReadonlyArray<string>, publishing?: PublishOptions) => Effect.Effect<void, Refusal>
  /** A notification came back: its subscription is marked, paused or ended. */
  readonly recordBounce: (bounce: Bounce) => Effect.Effect<void>
  /** A JID gave a sign of life: what was paused for it goes on, if it is much in the background. False when the database cannot be reached. */
  readonly resumeJid: (jid: string) => Effect.Effect<boolean>
  /** The same of a domain that speaks for all its addresses, among the subscriptions of its account. */
  readonly resumeDomain: (accountId: number, domain: string) => Effect.Effect<boolean>
  /** What the hubs of publishers send to this service, their subscriber. */
  readonly confirmIntent: HubCallbacks["confirmIntent"]
  readonly findReceiver: HubCallbacks["findReceiver"]
  readonly acceptPush: HubCallbacks["acceptPush"]
  /** True when the partitions that this runner holds are awake (`/readyz`). */
  readonly ready: Effect.Effect<boolean>
}>()("windhover/actors/operations/Hub") {}
