import { Clock, Effect, Redacted } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import type { BounceStore } from "#domain/ports/BounceStore.ts"
import type { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import type { EntryStore } from "#domain/ports/EntryStore.ts"
import type { EventLog } from "#domain/ports/EventLog.ts"
import type { HostPauses } from "#domain/ports/HostPauses.ts"
import type { NotificationLog } from "#domain/ports/NotificationLog.ts"
import type { Outbox } from "#domain/ports/Outbox.ts"
import type { Pings } from "#domain/ports/Pings.ts"
import type { Redelivery } from "#domain/ports/Redelivery.ts"
import type { Replays } from "#domain/ports/Replays.ts"
import type { VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import type { ResourceCatalog } from "#domain/ports/ResourceCatalog.ts"
import { type PollWrite, ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { RunnerBoard } from "#domain/ports/RunnerBoard.ts"
import type { SessionStore } from "#domain/ports/SessionStore.ts"
import type { Retention } from "#domain/ports/Retention.ts"
import { type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import type { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { WriteProbe } from "#domain/ports/WriteProbe.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"

export type Stores =
  | AccountStore
  | BounceStore
  | DeliveryLog
  | EntryStore
  | EventLog
  | HostPauses
  | NotificationLog
  | Outbox
  | VerificationQueue
  | ResourceCatalog
  | ResourceStore
  | Retention
  | RunnerBoard
  | SessionStore
  | Pings
  | Redelivery
  | Replays
  | SubscriptionStore
  | SubscriptionHealth
  | HubSubscriptionStore
  | WriteProbe

/** Runs with a clock that reads `now`. Sleeping takes real time, so that batches are sent. */
export const at = (now: number) => <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(effect, Clock.Clock, {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.succeed(now),
    currentTimeNanosUnsafe: () => BigInt(now) * 1_000_000n,
    currentTimeNanos: Effect.succeed(BigInt(now) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => process.hrtime.bigint(),
    monotonicTimeNanos: Effect.sync(() => process.hrtime.bigint()),
    sleep: (duration) => Effect.provide(Effect.sleep(duration), realClock)
  })

const realClock = Clock.Clock.context(Clock.Clock.defaultValue())

/** Makes unique names, because the tests of a file share the stores. */
let last = 0

export const unique = (prefix: string): string => `${prefix}${process.pid.toString(36)}x${++last}`

export const newAccount = Effect.gen(function*() {
  const accounts = yield* AccountStore
  return yield* accounts.create(unique("login"), Redacted.make("correct horse"))
})

export const newOperator = Effect.gen(function*() {
  const accounts = yield* AccountStore
  return yield* accounts.create(unique("operator"), Redacted.make("correct horse"), { admin: true })
})

/** An active webhook subscription of the account to a new topic. */
export const wantedBy = (accountId: number, change: Partial<NewSubscription> = {}): NewSubscription => {
  const url = `https://${unique("host")}.example/feed`
  return {
    accountId,
    topic: { given: url, canonical: url, host: new URL(url).hostname },
    partition: 7,
    channel: "webhook",
    endpoint: "https://callback.example/hook",
    host: "callback.example",
    face: "api",
    state: "active",
    ...change
  }
}

export const subscribe = (wanted: NewSubscription) => SubscriptionStore.use((store) => store.subscribe(wanted))

/** A new account with an active subscription to a new resource. */
export const newSubscription = (change: Partial<NewSubscription> = {}) =>
  Effect.gen(function*() {
    const account = yield* newAccount
    return { account, ...(yield* subscribe(wantedBy(account.id, change))) }
  })

export const entry = (id: string, change: Partial<Entry> = {}): Entry => ({
  id,
  title: { value: `Title of ${id}`, type: "text" },
  ...change
})

export const unchanged = (state: ResourceState): PollWrite => ({ state, entries: [], updated: [], announce: undefined })

/** A poll with these new entries, oldest first, and a notification. */
export const found = (state: ResourceState, entries: ReadonlyArray<Entry>): PollWrite => ({
  state,
  entries,
  updated: [],
  announce: { _tag: "Entries", ids: entries.map(({ id }) => id).toReversed() }
})

export const record = (change: PollWrite) => ResourceStore.use((store) => store.record(change))

/** Ids of the entries in a delivery. */
export const idsOf = (delivery: Delivery | undefined): ReadonlyArray<string> =>
  delivery?.notification.news._tag === "Entries" ? delivery.notification.news.entries.map(({ id }) => id) : []
