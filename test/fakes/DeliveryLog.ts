import { Clock, Effect } from "effect"
import { describeAnswer, placeOfSuccess } from "#domain/delivery/Delivery.ts"
import { DeliveryLog, type DeliveryTry, type Denied, type End, maxEnds } from "#domain/ports/DeliveryLog.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): DeliveryLog["Service"] =>
  DeliveryLog.of({
    list: ({ accountId, limit }) =>
      operation(state, () => {
        const isMeant = (owner: number) => accountId === undefined || owner === accountId
        const tries = [...state.subscriptions.values()]
          .filter(({ subscription }) => isMeant(subscription.accountId))
          .flatMap(({ log, subscription: { endpoint, id, topic } }): ReadonlyArray<DeliveryTry> =>
            [...log].map(([place, one]) => ({
              fate: place === placeOfSuccess ? "delivered" : one.attempt === 0 ? "bounced" : "failed",
              subscriptionId: id,
              topic,
              endpoint,
              ...one
            }))
          )
        const ends = state.ends.filter((end) => isMeant(end.accountId)).map(({ accountId: _, ...end }) => end)
        return [...tries, ...ends].toSorted(newestFirst).slice(0, limit)
      }),
    delivered: ({ attempt, sequence, subscriptionId }, answer) =>
      Effect.map(Clock.currentTimeMillis, (triedAt) => {
        const log = state.subscriptions.get(subscriptionId)?.log
        log?.set(placeOfSuccess, {
          sequence,
          attempt: attempt + 1,
          triedAt,
          ...describeAnswer(answer)
        })
      }),
    ended: (end: End) =>
      operation(state, (triedAt) => {
        state.ends.push({ ...end, triedAt })
        const mine = state.ends.filter(({ accountId }) => accountId === end.accountId)
        const oldest = mine.length > maxEnds ? mine[0] : undefined
        if (oldest !== undefined) state.ends.splice(state.ends.indexOf(oldest), 1)
      }),
    flush: Effect.void
  })

const newestFirst = (a: DeliveryTry | Denied, b: DeliveryTry | Denied): number =>
  b.triedAt - a.triedAt || (a.fate === "denied" || b.fate === "denied"
    ? Number(a.fate === "denied") - Number(b.fate === "denied")
    : a.subscriptionId - b.subscriptionId || b.sequence - a.sequence || b.attempt - a.attempt)
