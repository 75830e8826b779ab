import { countFitting, documentBytes } from "#domain/delivery/Delivery.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import {
  type NotificationName,
  type Recovered,
  type RecoveryStart,
  Redelivery,
  type Resent,
  type UndeliveredNotification,
  type UndeliveredQuery
} from "#domain/ports/Redelivery.ts"
import { operation, type State, type Subscriber } from "./State.ts"

export const make = (state: State): Redelivery["Service"] =>
  Redelivery.of({
    undelivered: (query) => operation(state, () => undelivered(state, query)),
    recover: (subscriptionId, since, limit) =>
      operation(state, (now) => recover(state, subscriptionId, since, limit, now)),
    readAfter: (subscriptionId, after, limits) =>
      operation(state, () => readAfter(state, subscriptionId, after, limits)),
    resend: (subscriptionId, names) => operation(state, (now) => resend(state, subscriptionId, names, now))
  })

/** Stored notifications of a subscriber in order of sequence. */
const stored = ({ history, queue }: Subscriber): ReadonlyArray<Delivery> => {
  const all = new Map(history)
  for (const { delivery } of queue.values()) all.set(delivery.sequence, delivery)
  return [...all.values()].toSorted((a, b) => a.sequence - b.sequence)
}

const bytesOf = ({ notification }: Delivery): number =>
  notification.news._tag === "Entries"
    ? notification.news.entries.reduce((sum, entry) => sum + JSON.stringify(entry).length, documentBytes(notification))
    : documentBytes(notification)

const readAfter = (
  state: State,
  subscriptionId: number,
  after: number,
  limits: { readonly count: number; readonly bytes: number }
) => {
  const subscriber = state.subscriptions.get(subscriptionId)
  if (subscriber === undefined) return { items: [], lastSequence: 0 }
  const all = stored(subscriber).filter(({ sequence }) => sequence > after)
  const first = all.slice(0, countFitting(all.map(bytesOf), limits))
  const next = all.length > first.length ? first.at(-1)?.sequence : undefined
  return {
    items: first.map(({ isPart, notification, sequence }) => ({ sequence, isPart: isPart === true, notification })),
    lastSequence: subscriber.nextSequence - 1,
    ...(next !== undefined && { next })
  }
}

const resend = (
  state: State,
  subscriptionId: number,
  names: ReadonlyArray<NotificationName>,
  now: number
): Resent | undefined => {
  const subscriber = state.subscriptions.get(subscriptionId)
  if (subscriber === undefined) return undefined
  const { partition, queue } = subscriber
  const found = names.map(({ notificationId, sequence }) =>
    stored(subscriber).find((one) =>
      (sequence ?? one.sequence) === one.sequence && (notificationId ?? one.notification.id) === one.notification.id &&
      (sequence !== undefined || one.isPart !== true)
    )
  )
  const wanted = new Map(found.flatMap((one) => one === undefined ? [] : [[one.sequence, one] as const]))
  for (const { id, requestedWait: _, ...delivery } of wanted.values()) {
    const queued = queue.get(id)
    const waitsSince = queued?.dropped === false ? delivery.waitsSince : now
    queue.set(id, {
      ...queued,
      ...(queued === undefined && { isResent: true }),
      dropped: false,
      delivery: { ...delivery, id, attempt: 0, dueAt: now, waitsSince }
    })
    state.queueOf.set(id, subscriptionId)
  }
  const sorted = [...queue].toSorted(([, a], [, b]) => a.delivery.sequence - b.delivery.sequence)
  queue.clear()
  for (const [id, queued] of sorted) queue.set(id, queued)
  return {
    partition,
    sequences: [...wanted.keys()].toSorted((a, b) => a - b),
    missing: names.filter((_, i) => found[i] === undefined)
  }
}

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
