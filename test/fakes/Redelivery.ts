import { Redelivery, type UndeliveredNotification, type UndeliveredQuery } from "#domain/ports/Redelivery.ts"
import { operation, type State, type Subscriber } from "./State.ts"

export const make = (state: State): Redelivery["Service"] =>
  Redelivery.of({ undelivered: (query) => operation(state, () => undelivered(state, query)) })

const undelivered = (state: State, { accountId, after, limit, subscriptionId }: UndeliveredQuery) => {
  const all = [...state.subscriptions.values()]
    .filter(({ subscription }) =>
      subscription.accountId === accountId && (subscriptionId ?? subscription.id) === subscription.id
    )
    .flatMap(undeliveredOf)
    .filter((item) =>
      after === undefined || item.subscriptionId > after.subscriptionId ||
      item.subscriptionId === after.subscriptionId && item.sequence > after.sequence
    )
    .toSorted((a, b) => a.subscriptionId - b.subscriptionId || a.sequence - b.sequence)
  const items = all.slice(0, limit)
  const last = items.at(-1)
  return { items, ...(all.length > limit && last !== undefined && { next: last }) }
}

const undeliveredOf = ({ queue, subscription }: Subscriber): ReadonlyArray<UndeliveredNotification> =>
  [...queue.values()].map(({ delivery, dropped, lastAttempt }) => ({
    subscriptionId: subscription.id,
    topic: subscription.topic,
    endpoint: subscription.endpoint,
    sequence: delivery.sequence,
    notificationId: delivery.notification.id,
    isPart: delivery.isPart === true,
    state: dropped ? "dropped" : "waiting",
    attempts: delivery.attempt,
    ...(!dropped && { nextTry: delivery.dueAt }),
    ...(lastAttempt !== undefined && { failed: { code: lastAttempt.code, message: lastAttempt.message } }),
    recordedAt: delivery.notification.createdAt
  }))
