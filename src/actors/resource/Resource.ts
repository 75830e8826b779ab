import { Context, type Deferred, type Effect } from "effect"
import type { HostThrottle } from "#actors/limits/HostThrottle.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import type { Delivery, Document } from "#domain/delivery/Notification.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import type { HubDirectory } from "./HubDirectory.ts"
import type { ResourceHealth } from "./ResourceHealth.ts"

export type Message =
  /** The alarm. */
  | { readonly _tag: "Poll" }
  /** A publisher announces news, or its hub does. */
  | { readonly _tag: "Ping"; readonly byHub?: boolean }
  | Push
  /** The hub no longer pushes; the resource is polled at `at` (epoch ms) at the latest. */
  | { readonly _tag: "PollBy"; readonly at: number }
  /** The subscriptions of the resource have changed. */
  | { readonly _tag: "Reload" }
  /** The resource was unwatched until now: its next document is fetched at once, and is news only after a ping or push. */
  | { readonly _tag: "Rebase" }
  | FirstFetch

/** A subscriber waits for the first document, or for the present document of a resource without subscribers. */
export interface FirstFetch {
  readonly _tag: "FirstFetch"
  /** True after the fetch; false at once when too many subscribers wait. */
  readonly done: Deferred.Deferred<boolean>
}

/** A document from the publisher or its hub. */
export interface Push {
  readonly _tag: "Push"
  /** Undefined when the sender waits no longer. The actor then fetches the document instead. */
  document: PushedDocument | undefined
  readonly byHub: boolean
  /** Done when the news are stored, or a fetch is planned instead. */
  readonly done: Deferred.Deferred<boolean>
}

export const poll: Message = { _tag: "Poll" }
export const ping: Message = { _tag: "Ping" }
export const rebase: Message = { _tag: "Rebase" }

export interface State {
  resource: ResourceState
  /** New and updated entries of the last answer. */
  entryCount: number
  /** Epoch ms of the last ping without a fetch since. */
  pingedAt: number | undefined
  /** The waiting ping comes from a hub, so that its news do not count as missed. */
  pushedByHub: boolean
  /** The next document is the baseline of a new subscription, and no news. */
  isRebasing: boolean
  /** A ping or push came before the first document was stored, which so is news for the hub face. */
  isPingedEarly: boolean
  /** The first document, until the messages that came before its record are read. */
  firstDocument: Document | undefined
  /** Pushed documents, oldest first; bounded. */
  readonly pushes: Array<Push>
  /** Subscribers that wait for a document. The actor fetches the document at once. */
  readonly waitingForDocument: Array<Deferred.Deferred<boolean>>
  /** Hubs that wait for the fetch in place of a push. That fetch is spaced like a ping. */
  readonly waitingForRefetch: Array<Deferred.Deferred<boolean>>
}

/** An answer that asks Windhover to leave the host alone. Times are epoch ms. */
export interface HostRefusal {
  readonly resourceId: number
  /** The host, or its key for the resources of strangers. */
  readonly host: string
  readonly since: number
  readonly until: number
}

/** Services of the partition for its resources. */
export interface PartitionContext {
  readonly hostThrottle: HostThrottle
  /** Delays a refused resource, and pauses its host where the refusal asks for that. */
  readonly refuse: (refusal: HostRefusal) => Effect.Effect<void>
  readonly health: ResourceHealth
  /** Wakes a resource that waited for its host. */
  readonly wakeResource: (id: number) => Effect.Effect<void>
  readonly deliver: (delivery: Delivery) => Effect.Effect<void>
  /** Waits until the runner holds the lease of the partition for certain. */
  readonly awaitLease: Effect.Effect<void>
  readonly hubDirectory: HubDirectory
}

export class ResourceBehavior extends Context.Service<ResourceBehavior, {
  /** Polls the resource when it is due, and delivers its news. Returns the time of the next poll. */
  readonly run: (self: Self<State, Message>, context: PartitionContext) => Effect.Effect<number | undefined>
}>()("windhover/actors/resource/Resource/ResourceBehavior") {}
