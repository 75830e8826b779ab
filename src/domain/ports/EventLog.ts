import { Context, type Effect } from "effect"
import type { Event, LoggedEvent } from "#domain/Event.ts"
import type { StoreError } from "./StoreError.ts"

/**
 * Events for accounts and operators: each account has a log, and the operators share one of all events.
 *
 * Events about deliveries of events are left out, so that events never cause events.
 */
export class EventLog extends Context.Service<EventLog, {
  /**
   * Keeps an event for its owners and the operators. Never fails, and waits for no database: events are written in bulk within a second, and
   * lost by a crash before.
   */
  readonly publish: (event: Event) => Effect.Effect<void>
  /** Events of an account (undefined: of all accounts and the service) behind the id `after`, oldest first, at most `limit`. */
  readonly readAfter: (
    accountId: number | undefined,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<LoggedEvent>, StoreError>
  /** Writes the buffered events. */
  readonly flush: Effect.Effect<void, StoreError>
}>()("windhover/domain/ports/EventLog") {}
