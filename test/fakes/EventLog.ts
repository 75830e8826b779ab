import { Clock, Effect } from "effect"
import type { Event, LoggedEvent } from "#domain/Event.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): EventLog["Service"] => {
  const logs: Array<LoggedEvent & { readonly owners: ReadonlyArray<number | undefined> }> = []
  const ownersOf = (event: Event): ReadonlyArray<number> => {
    if ("accountId" in event && event.accountId !== undefined) return [event.accountId]
    if (!("resourceId" in event)) return []
    return [...state.subscribers.get(event.resourceId)?.values() ?? []].map(({ subscription }) =>
      subscription.accountId
    )
  }
  return EventLog.of({
    publish: (event) =>
      Effect.map(Clock.currentTimeMillis, (at) =>
        void logs.push({
          id: state.serial(),
          at,
          event,
          owners: [undefined, ...ownersOf(event)]
        })),
    readAfter: (accountId, after, limit) =>
      operation(state, () =>
        logs.filter(({ id, owners }) => id > after && owners.includes(accountId)).slice(0, limit)
          .map(({ at, event, id }) => ({ id, at, event }))),
    flush: operation(state, () => {})
  })
}
