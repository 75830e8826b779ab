import { Context, Effect, Layer } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { HostPauses } from "#domain/ports/HostPauses.ts"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { Redelivery } from "#domain/ports/Redelivery.ts"
import { Replays } from "#domain/ports/Replays.ts"
import { VerificationQueue } from "#domain/ports/VerificationQueue.ts"
import { ResourceCatalog } from "#domain/ports/ResourceCatalog.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Retention } from "#domain/ports/Retention.ts"
import { RunnerBoard } from "#domain/ports/RunnerBoard.ts"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import * as Accounts from "./Accounts.ts"
import * as Bounces from "./Bounces.ts"
import * as Deliveries from "./Deliveries.ts"
import * as DeliveryLogMemory from "./DeliveryLog.ts"
import * as Entries from "./Entries.ts"
import * as EventLogMemory from "./EventLog.ts"
import * as HostPausesMemory from "./HostPauses.ts"
import * as Notifications from "./Notifications.ts"
import * as PingsMemory from "./Pings.ts"
import * as RedeliveryMemory from "./Redelivery.ts"
import * as ReplaysMemory from "./Replays.ts"
import * as Verifications from "./Verifications.ts"
import * as Catalog from "./ResourceCatalog.ts"
import * as Resources from "./Resources.ts"
import * as Retentions from "./Retention.ts"
import * as Runners from "./RunnerBoard.ts"
import * as State from "./State.ts"
import * as Sessions from "./Sessions.ts"
import * as Health from "./SubscriptionHealth.ts"
import * as Subscriptions from "./Subscriptions.ts"
import * as Upstreams from "./HubSubscriptions.ts"
import * as WritingMemory from "./WriteProbe.ts"

/** Makes the stores of `layer` fail as a database does. */
export class Faults extends Context.Service<Faults, {
  /** From now on every operation fails as `unavailable`, but for `touch` and `confirm`, which cannot fail and are kept. */
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
  /** The next `record` is written, and its answer lost: it fails as `unavailable` all the same. */
  readonly loseAnswer: Effect.Effect<void>
  /** From now on, the record of a ping takes this time, in ms. */
  readonly delayPings: (ms: number) => Effect.Effect<void>
}>()("windhover/test/fakes/MemoryStores/Faults") {}

/**
 * All stores over one state in memory, on the time of `Clock`: for tests on `TestClock`.
 *
 * What the SQL stores write some milliseconds later is written at once here. Passwords are hashed with the least work.
 */
export const layer: Layer.Layer<
  | ResourceStore
  | ResourceCatalog
  | EntryStore
  | EventLog
  | HostPauses
  | NotificationLog
  | SubscriptionStore
  | SubscriptionHealth
  | Outbox
  | BounceStore
  | DeliveryLog
  | Retention
  | RunnerBoard
  | Redelivery
  | Replays
  | Pings
  | AccountStore
  | SessionStore
  | VerificationQueue
  | HubSubscriptionStore
  | WriteProbe
  | Faults
> = Layer.effectContext(Effect.sync(() => {
  const state = State.make()
  return Context.make(ResourceStore, Resources.make(state)).pipe(
    Context.add(ResourceCatalog, Catalog.make(state)),
    Context.add(EntryStore, Entries.make(state)),
    Context.add(EventLog, EventLogMemory.make(state)),
    Context.add(HostPauses, HostPausesMemory.make(state)),
    Context.add(NotificationLog, Notifications.make(state)),
    Context.add(SubscriptionStore, Subscriptions.make(state)),
    Context.add(SubscriptionHealth, Health.make(state)),
    Context.add(Outbox, Deliveries.make(state)),
    Context.add(BounceStore, Bounces.make(state)),
    Context.add(DeliveryLog, DeliveryLogMemory.make(state)),
    Context.add(Retention, Retentions.make(state)),
    Context.add(Redelivery, RedeliveryMemory.make(state)),
    Context.add(Replays, ReplaysMemory.make(state)),
    Context.add(Pings, PingsMemory.make(state)),
    Context.add(AccountStore, Accounts.make(state)),
    Context.add(SessionStore, Sessions.make(state)),
    Context.add(VerificationQueue, Verifications.make(state)),
    Context.add(HubSubscriptionStore, Upstreams.make(state)),
    Context.add(WriteProbe, WritingMemory.make(state)),
    Context.add(Faults, {
      down: Effect.sync(() => void (state.faults.unavailable = true)),
      up: Effect.sync(() => void (state.faults.unavailable = false)),
      loseAnswer: Effect.sync(() => void (state.faults.loseAnswer = true)),
      delayPings: (ms) => Effect.sync(() => void (state.faults.pingDelayMs = ms))
    })
  ).pipe(Context.add(RunnerBoard, Runners.make(state)))
}))
