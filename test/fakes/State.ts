import { Clock, Effect } from "effect"
import type { Account, Token } from "#domain/Account.ts"
import type { BounceHistory, Trial } from "#domain/delivery/Bounce.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import type { AttemptResult, Delivery, Document } from "#domain/delivery/Notification.ts"
import type { SubscriptionEnd } from "#domain/ports/DeliveryLog.ts"
import type { DocumentVersion } from "#domain/poll/DocumentVersion.ts"
import type { FetchRecord } from "#domain/poll/FetchRecord.ts"
import type { NumberedNotification } from "#domain/ports/NotificationLog.ts"
import type { Session } from "#domain/Session.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { maxAskers, maxCountedSubscribers, type ResourceState, withSubscribers } from "#domain/poll/Resource.ts"
import type { ClaimedVerification, VerificationLane, VerificationOrigin } from "#domain/ports/VerificationQueue.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { NewPing, Ping } from "#domain/ports/Pings.ts"
import type { SlidingWindow } from "#domain/limits/SlidingWindow.ts"
import type { HubCounts, HubSubscription } from "#domain/websub/HubSubscription.ts"

/** A version of a document. */
export interface StoredVersion extends DocumentVersion {
  readonly document: Document
}

/** An attempt in its slot. */
export interface LogRow {
  readonly position: bigint
  readonly outcome: "delivered" | "failed" | "dropped" | "bounced"
  readonly attempt: number
  readonly sequence: number
  readonly result: AttemptResult
  readonly nextTry?: number
  /** Absent for a bounce. */
  readonly delivery?: Delivery
}

export interface LogEnd {
  readonly position: bigint
  readonly end: SubscriptionEnd
}

/** A ping, and the account that it belongs to. */
export interface RecordedPing {
  readonly wanted: NewPing
  /** The resource whose fetch answers the ping. */
  readonly resourceId: number | undefined
  ping: Ping
}

/** What the SQL stores keep in tables. Values are immutable: a change replaces them. */
export interface State {
  readonly resources: Map<number, ResourceState>
  readonly idByUrl: Map<string, number>
  readonly documents: Map<number, Document>
  /** By resource, newest first. */
  readonly fetches: Map<number, ReadonlyArray<FetchRecord>>
  readonly versions: Map<number, ReadonlyArray<StoredVersion>>
  /** By resource, then by entry id. */
  readonly entries: Map<number, Map<string, Arrived>>
  /** By resource without an active subscription: epoch ms; 0 when there never was one. */
  readonly unwatchedSince: Map<number, number>
  readonly createdAt: Map<number, number>
  /** By resource, oldest first. */
  readonly notifications: Map<number, Array<NumberedNotification>>
  /** Newest first. */
  readonly pings: Array<RecordedPing>
  readonly subscriptions: Map<number, Subscriber>
  /** By resource, then by id. */
  readonly subscribers: Map<number, Map<number, Subscriber>>
  /** How subscriptions ended, oldest first. */
  readonly ends: Array<LogEnd>
  /** By subscription: epoch ms of the end of its recording. */
  readonly recordings: Map<number, number>
  /** Which subscription's queue holds a delivery. */
  readonly queueOf: Map<number, number>
  /** By id, in order. */
  readonly questions: Map<number, Waiting>
  /** By place in the queue. */
  readonly turns: Map<string, SlidingWindow>
  /** By resource. */
  readonly upstreams: Map<number, HubSubscription>
  readonly hubs: Map<string, Counted>
  readonly accounts: Map<number, Holder>
  readonly tokens: Map<number, Issued>
  /** By the hash of the secret, in hex. */
  readonly sessions: Map<string, Session>
  /** Gives the ids, from 1, and the order of arrival. */
  readonly serial: () => number
  readonly faults: { unavailable: boolean; loseAnswer: boolean; pingDelayMs: number }
}

export interface Counted {
  readonly tally: HubCounts
  /** Epoch ms: when the last count came in. */
  readonly countedAt: number
}

export interface Arrived {
  readonly entry: Entry
  readonly firstSeen: number
  readonly arrival: number
}

export interface Subscriber {
  subscription: Subscription
  readonly partition: number
  nextSequence: number
  /** Its part of the outbox, in order of sequence. */
  readonly queue: Map<number, Queued>
  /** Numbered notifications and parts by sequence, delivered ones as well. */
  readonly history: Map<number, Delivery>
  bounces?: BounceHistory | undefined
  /** Of a paused one, epoch ms. */
  trialAt?: number | undefined
  trial?: Trial | undefined
  /** Its last tries, by their slot. */
  readonly log: Map<number, LogRow>
}

export interface Queued {
  readonly delivery: Delivery
  readonly lastAttempt?: AttemptResult
  readonly dropped: boolean
  /** The receiver accepted the notification before. */
  readonly isResent?: boolean
}

export interface Waiting extends ClaimedVerification, VerificationOrigin {
  readonly lane: VerificationLane
  /** Its place, under the name that turns are allotted by. */
  readonly site: string
  readonly claimed: boolean
  readonly dueAt: number
}

export interface Holder {
  account: Account
  passwordHash: string
}

export interface Issued {
  readonly token: Token
  /** Hexadecimal SHA-256. */
  readonly hash: string
}

export const make = (): State => {
  let last = 0
  return {
    resources: new Map(),
    idByUrl: new Map(),
    documents: new Map(),
    fetches: new Map(),
    versions: new Map(),
    entries: new Map(),
    unwatchedSince: new Map(),
    createdAt: new Map(),
    notifications: new Map(),
    pings: [],
    subscriptions: new Map(),
    subscribers: new Map(),
    ends: [],
    recordings: new Map(),
    queueOf: new Map(),
    questions: new Map(),
    turns: new Map(),
    upstreams: new Map(),
    hubs: new Map(),
    accounts: new Map(),
    tokens: new Map(),
    sessions: new Map(),
    serial: () => ++last,
    faults: { unavailable: false, loseAnswer: false, pingDelayMs: 0 }
  }
}

export const isLive = (subscription: Subscription, now: number): boolean =>
  (subscription.state === "active" || subscription.state === "paused" && subscription.channel === "webhook") &&
  (subscription.leaseUntil === undefined || subscription.leaseUntil > now)

/** What the SQL store does after a subscription has gone: the resource is marked, or goes as well. */
export const settle = (state: State, resourceId: number, now: number): void => {
  if ((state.subscribers.get(resourceId)?.size ?? 0) > 0) return
  const since = state.unwatchedSince.get(resourceId)
  if (since === undefined) state.unwatchedSince.set(resourceId, now)
  else if (since === 0) removeResource(state, resourceId)
}

export const removeResource = (state: State, id: number): void => {
  state.idByUrl.delete(state.resources.get(id)?.url ?? "")
  const { documents, entries, fetches, notifications, resources, upstreams, versions } = state
  for (const table of [resources, entries, notifications, documents, fetches, versions, upstreams]) table.delete(id)
  state.unwatchedSince.delete(id)
}

/** The live subscriptions of a resource, oldest first. */
export const subscribersOf = (state: State, resourceId: number, now: number): ReadonlyArray<Subscriber> =>
  [...state.subscribers.get(resourceId)?.values() ?? []].filter(({ subscription }) => isLive(subscription, now))

/** A resource as it is loaded: with what there is of subscribers. */
export const loaded = (state: State, resource: ResourceState, now: number): ResourceState =>
  withSubscribers(resource, {
    subscribers: Math.min(subscribersOf(state, resource.id, now).length, maxCountedSubscribers),
    ...(isOnHub(state, resource.id, now) && { hasHubSubscribers: true }),
    ...(isOnHub(state, resource.id, now) && !hasAccountSubscribers(state, resource.id) && {
      strangersOnly: true,
      ...askersOf(state, resource.id, now)
    })
  })

const askersOf = (state: State, resourceId: number, now: number) => {
  const found = subscribersOf(state, resourceId, now).filter(({ subscription }) => subscription.face === "hub")
    .map(({ subscription }) => subscription.asker)
  const askers = [...new Set(found.filter((asker) => asker !== undefined))].toSorted()
  return found.includes(undefined) || askers.length > maxAskers ? {} : { askers }
}

const hasAccountSubscribers = (state: State, resourceId: number): boolean =>
  [...state.subscribers.get(resourceId)?.values() ?? []].some(({ subscription }) => subscription.face === "api")

const isOnHub = (state: State, resourceId: number, now: number): boolean =>
  subscribersOf(state, resourceId, now).some(({ subscription }) => subscription.face === "hub")

export const gone = new StoreError({
  reason: { _tag: "Unavailable", message: "The store was made unavailable by a test." }
})

/** One operation: takes the time, and fails while the store is unavailable. */
export const operation = <A>(state: State, run: (now: number) => A): Effect.Effect<A, StoreError> =>
  Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => state.faults.unavailable ? Effect.fail(gone) : Effect.sync(() => run(now))
  )
