import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): DeliveryLog["Service"] =>
  DeliveryLog.of({
    list: ({ accountId, limit }) =>
      operation(state, () =>
        [...state.subscriptions.values()]
          .filter(({ subscription }) => accountId === undefined || subscription.accountId === accountId)
          .flatMap(({ log, subscription: { endpoint, id, topic } }) =>
            [...log.values()].map((failure) => ({ subscriptionId: id, topic, endpoint, ...failure }))
          )
          .toSorted((a, b) =>
            b.failedAt - a.failedAt || a.subscriptionId - b.subscriptionId || b.sequence - a.sequence ||
            b.attempt - a.attempt
          )
          .slice(0, limit))
  })
