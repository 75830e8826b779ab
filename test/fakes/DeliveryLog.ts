import { Clock, Effect } from "effect"
import { describeResponse, successSlot } from "#domain/delivery/Delivery.ts"
import {
  DeliveryLog,
  type LoggedAttempt,
  type LoggedDenial,
  maxEnds,
  type SubscriptionEnd
} from "#domain/ports/DeliveryLog.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): DeliveryLog["Service"] =>
  DeliveryLog.of({
    list: ({ accountId, limit }) =>
      operation(state, () => {
        const isMeant = (owner: number) => accountId === undefined || owner === accountId
        const tries = [...state.subscriptions.values()]
          .filter(({ subscription }) => isMeant(subscription.accountId))
          .flatMap(({ log, subscription: { endpoint, id, topic } }): ReadonlyArray<LoggedAttempt> =>
            [...log].map(([place, one]) => ({
              outcome: place === successSlot ? "delivered" : one.attempt === 0 ? "bounced" : "failed",
              subscriptionId: id,
              topic,
              endpoint,
              ...one
            }))
          )
        const ends = state.ends.filter((end) => isMeant(end.accountId)).map(({ accountId: _, ...end }) => end)
        return [...tries, ...ends].toSorted(newestFirst).slice(0, limit)
      }),
    recordDelivery: ({ attempt, sequence, subscriptionId }, answer) =>
      Effect.map(Clock.currentTimeMillis, (triedAt) => {
        const log = state.subscriptions.get(subscriptionId)?.log
        log?.set(successSlot, {
          sequence,
          attempt: attempt + 1,
          triedAt,
          ...describeResponse(answer)
        })
      }),
    recordEnd: (end: SubscriptionEnd) =>
      operation(state, (triedAt) => {
        state.ends.push({ ...end, triedAt })
        const mine = state.ends.filter(({ accountId }) => accountId === end.accountId)
        const oldest = mine.length > maxEnds ? mine[0] : undefined
        if (oldest !== undefined) state.ends.splice(state.ends.indexOf(oldest), 1)
      }),
    flush: Effect.void
  })

const newestFirst = (a: LoggedAttempt | LoggedDenial, b: LoggedAttempt | LoggedDenial): number =>
  b.triedAt - a.triedAt || (a.outcome === "denied" || b.outcome === "denied"
    ? Number(a.outcome === "denied") - Number(b.outcome === "denied")
    : a.subscriptionId - b.subscriptionId || b.sequence - a.sequence || b.attempt - a.attempt)
