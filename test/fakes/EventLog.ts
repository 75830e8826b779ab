import { Clock, Deferred, Effect } from "effect"
import type { Event, LoggedEvent } from "#domain/Event.ts"
import { eventsTopicOf } from "#domain/EventsTopic.ts"
import { EventLog, type WatchedEvents } from "#domain/ports/EventLog.ts"
import { operation, type State, subscribersOf } from "./State.ts"

export const make = (state: State): EventLog["Service"] => {
  const events: Array<LoggedEvent & { readonly owners: ReadonlyArray<number> }> = []
  let watched: Array<WatchedEvents> = []
  let reader: Deferred.Deferred<ReadonlyArray<WatchedEvents>> | undefined
  const ownersOf = (event: Event): ReadonlyArray<number> => {
    if ("accountId" in event && event.accountId !== undefined) return [event.accountId]
    if (!("resourceId" in event)) return []
    return [...state.subscribers.get(event.resourceId)?.values() ?? []]
      .map(({ subscription }) => subscription.accountId)
  }
  const isIn = (accountId: number, owners: ReadonlyArray<number>): boolean =>
    state.accounts.get(accountId)?.account.admin === true || owners.includes(accountId)
  const wake = Effect.suspend(() => {
    if (reader === undefined || watched.length === 0) return Effect.void
    const found = watched
    const done = reader
    watched = []
    reader = undefined
    return Effect.asVoid(Deferred.succeed(done, found))
  })
  const read = (accountId: number) =>
    events.filter(({ owners }) => isIn(accountId, owners)).map(({ at, event, id }) => ({ id, at, event }))
  return EventLog.of({
    publish: (event) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) => {
        // No account of the fake has ever been credited.
        if (event.type === "account.out_of_allowance") return Effect.void
        const owners = ownersOf(event)
        events.push({ id: state.serial(), at, event, owners })
        for (const { id, partition, url } of state.resources.values()) {
          const owner = [...state.accounts.keys()].find((accountId) => url === eventsTopicOf(accountId))
          if (owner !== undefined && isIn(owner, owners) && subscribersOf(state, id, at).length > 0) {
            watched.push({ resourceId: id, partition })
          }
        }
        return wake
      }),
    readAfter: (accountId, after, limit) =>
      operation(state, () => read(accountId).filter(({ id }) => id > after).slice(0, limit)),
    readNewest: (accountId, limit) => operation(state, () => read(accountId).slice(-limit)),
    watched: Effect.suspend(() => {
      reader = Deferred.makeUnsafe()
      return Effect.andThen(wake, Deferred.await(reader))
    }),
    flush: operation(state, () => {})
  })
}
