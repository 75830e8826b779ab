import { Context, type Effect } from "effect"
import type { Event, LoggedEvent } from "#domain/Event.ts"
import type { StoreError } from "./StoreError.ts"

/** The base URL of the service, whose topic of events causes no events itself. */
export const EventsBaseUrl = Context.Reference<string | undefined>("windhover/domain/ports/EventLog/EventsBaseUrl", {
  defaultValue: () => undefined
})

/** Events that the log of an account keeps, and the log of the operators. */
export const maxEvents = { account: 1_000, operators: 10_000 }

/** Age of the oldest kept events in days. */
export const maxEventDays = 30

/** Resource of an account's events, with a subscription. */
export interface WatchedEvents {
  readonly resourceId: number
  readonly partition: number
}

/**
 * Events for accounts and operators: each account has a log, and the operators share one of all events.
 *
 * Events about deliveries of events are left out, so that events never cause events. A log takes 20 events of one type in a minute from each
 * runner; an aggregate event counts the others.
 */
export class EventLog extends Context.Service<EventLog, {
  /**
   * Keeps an event for its owners and the operators. Never fails, and waits for no database: events are written in bulk within a second, and
   * lost by a crash before.
   */
  readonly publish: (event: Event) => Effect.Effect<void>
  /**
   * Events of an account behind the id `after`, oldest first, at most `limit`. An operator's account has the events of all accounts. Ids ascend
   * in the order in which events become readable.
   */
  readonly readAfter: (
    accountId: number,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<LoggedEvent>, StoreError>
  /** The newest events of an account, oldest first. */
  readonly readNewest: (accountId: number, limit: number) => Effect.Effect<ReadonlyArray<LoggedEvent>, StoreError>
  /** Waits for the next events of watched resources. A resource that is missed here reads its events later. */
  readonly watched: Effect.Effect<ReadonlyArray<WatchedEvents>>
  /** Writes the buffered events. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/EventLog") {}
