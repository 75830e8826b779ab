import {
  type Recovered,
  type RecoveryStart,
  Redelivery,
  type UndeliveredNotification,
  type UndeliveredQuery
} from "#domain/ports/Redelivery.ts"
import { operation, type State, type Subscriber } from "./State.ts"

export const make = (state: State): Redelivery["Service"] =>
  Redelivery.of({
    undelivered: (query) => operation(state, () => undelivered(state, query)),
    recover: (subscriptionId, since, limit) =>
      operation(state, (now) => recover(state, subscriptionId, since, limit, now))
  })

const recover = (
  state: State,
  subscriptionId: number,
  since: RecoveryStart = { sequence: 1 },
  limit: number,
  now: number
): Recovered | undefined => {
  const subscriber = state.subscriptions.get(subscriptionId)
  if (subscriber === undefined) return undefined
  const { partition, queue } = subscriber
  for (const [id, queued] of queue) {
    if (queued.dropped || queued.delivery.attempt === 0) continue
    const { requestedWait: _, ...delivery } = queued.delivery
    queue.set(id, { ...queued, delivery: { ...delivery, dueAt: now } })
  }
  const wanted = [...queue].filter(([, { delivery, dropped }]) =>
    dropped &&
    ("sequence" in since ? delivery.sequence >= since.sequence : delivery.notification.createdAt >= since.recordedAt)
  ).slice(0, limit)
  for (const [id, queued] of wanted) {
    const { requestedWait: _, ...delivery } = queued.delivery
    queue.set(id, { ...queued, dropped: false, delivery: { ...delivery, attempt: 0, dueAt: now, waitsSince: now } })
  }
  return { partition, recovered: wanted.length, lost: 0, isFinished: wanted.length < limit }
}

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
