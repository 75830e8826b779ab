import { Effect } from "effect"
import { countFitting, documentBytes } from "#domain/delivery/Delivery.ts"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { logFailure } from "./DeliveryLog.ts"
import { operation, type Queued, type State } from "./State.ts"

export const make = (state: State): Outbox["Service"] =>
  Outbox.of({
    backlog: (subscriptionId, count, bytes = Infinity) =>
      operation(state, () => backlog(state, subscriptionId, { count, bytes })),
    confirm: (deliveryId) => Effect.sync(() => confirm(state, deliveryId)),
    confirmPart: (deliveryId) => operation(state, () => confirm(state, deliveryId)),
    postpone: (delivery, dueAt, attempt) =>
      operation(state, (triedAt) =>
        fail(state, { ...delivery, attempt: delivery.attempt + 1, dueAt }, attempt, triedAt, dueAt)),
    drop: (delivery, attempt) =>
      operation(state, (triedAt) =>
        fail(state, { ...delivery, attempt: delivery.attempt + 1 }, attempt, triedAt, undefined)),
    split: Effect.fn("Outbox.split")((delivery, attempt) =>
      operation(state, (triedAt) =>
        split(state, delivery, attempt, triedAt))
    ),
    dropOlder: Effect.fn("Outbox.dropOlder")((subscriptionId, before) =>
      operation(state, () =>
        dropOlder(state, subscriptionId, before))
    ),
    hold: Effect.fn("Outbox.hold")((subscriptionId, dueAt, waitMs) =>
      operation(state, () => {
        const queue = state.subscriptions.get(subscriptionId)?.queue ?? new Map<number, Queued>()
        const [first] = waiting(queue)
        const row = { dropped: false, ...queue.get(first?.id ?? 0) }
        if (first !== undefined) {
          queue.set(first.id, { ...row, delivery: { ...first, dueAt, requestedWait: waitMs } })
        }
      })
    ),
    restartWaiting: Effect.fn("Outbox.restartWaiting")((subscriptionId, since) =>
      operation(state, () =>
        waitAnew(state, subscriptionId, since))
    ),
    findStalled: Effect.fn("Outbox.findStalled")((partitions, before) =>
      operation(state, () => stalled(state, new Set(partitions), before))
    ),
    measure: operation(state, () => {
      const all = [...state.subscriptions.values()].flatMap(({ queue }) => waiting(queue))
      const oldestAt = Math.min(...all.map(({ waitsSince }) => waitsSince))
      return { waiting: all.length, oldestAt: all.length === 0 ? undefined : oldestAt }
    }),
    flush: operation(state, () => {})
  })

const confirm = (state: State, deliveryId: number): void => {
  subscriberOf(state, deliveryId)?.queue.delete(deliveryId)
  state.queueOf.delete(deliveryId)
}

const waiting = (queue: ReadonlyMap<number, Queued>) =>
  [...queue.values()].flatMap(({ delivery, dropped }) => dropped ? [] : [delivery])

const backlog = (state: State, subscriptionId: number, most: { readonly count: number; readonly bytes: number }) => {
  const subscriber = state.subscriptions.get(subscriptionId)
  if (subscriber === undefined) return { deliveries: [], hasMore: false, nextSequence: 1 }
  const all = waiting(subscriber.queue)
  const deliveries = all.slice(0, countFitting(all.map(({ notification }) => documentBytes(notification)), most))
  return { deliveries, hasMore: all.length > deliveries.length, nextSequence: subscriber.nextSequence }
}

const subscriberOf = (state: State, deliveryId: number) => state.subscriptions.get(state.queueOf.get(deliveryId) ?? 0)

/** What was given up stays so, and what is gone stays gone. */
const fail = (
  state: State,
  delivery: Delivery,
  lastAttempt: AttemptResult,
  triedAt: number,
  nextTry: number | undefined
) => {
  const subscriber = subscriberOf(state, delivery.id)
  const queued = subscriber?.queue.get(delivery.id)
  if (subscriber === undefined || queued?.dropped !== false) return
  const { attempt, id, sequence } = delivery
  subscriber.queue.set(id, { ...queued, delivery, lastAttempt, dropped: nextTry === undefined })
  logFailure(state, subscriber, triedAt, {
    outcome: nextTry === undefined ? "dropped" : "failed",
    sequence,
    attempt,
    result: lastAttempt,
    delivery: { ...delivery, attempt: attempt - 1 },
    ...(nextTry !== undefined && { nextTry })
  })
}

const split = (state: State, tried: Delivery, lastAttempt: AttemptResult, triedAt: number): boolean => {
  const subscriber = subscriberOf(state, tried.id)
  const found = subscriber?.queue.get(tried.id)
  const { news } = found?.delivery.notification ?? {}
  if (subscriber === undefined || found?.dropped !== false || found.delivery.sequence !== tried.sequence) return true
  if (news?._tag !== "Entries" || news.entries.length < 2) return false
  const moving = [...subscriber.queue.values()].filter(({ delivery, isResent }) =>
    delivery.sequence >= tried.sequence && isResent !== true
  )
  if (moving.length < subscriber.nextSequence - tried.sequence) return false
  const middle = Math.ceil(news.entries.length / 2)
  const { requestedWait: _, ...whole } = { ...found.delivery, attempt: 0 }
  const half = (start: number, end?: number): Delivery => ({
    ...whole,
    isPart: true,
    notification: { ...whole.notification, news: { _tag: "Entries", entries: news.entries.slice(start, end) } }
  })
  const older = { ...half(middle), id: state.serial() }
  const later = [...subscriber.queue.values()].map((queued) => {
    const { delivery } = queued
    if (delivery.sequence < tried.sequence) return queued
    const moved = delivery.id === tried.id ? half(0, middle) : delivery
    return { ...queued, delivery: { ...moved, sequence: delivery.sequence + 1 } }
  })
  const all = [...later, { delivery: older, dropped: false }].toSorted((a, b) =>
    a.delivery.sequence - b.delivery.sequence
  )
  subscriber.queue.clear()
  for (const queued of all) {
    subscriber.queue.set(queued.delivery.id, queued)
    subscriber.history.set(queued.delivery.sequence, queued.delivery)
  }
  subscriber.nextSequence++
  state.queueOf.set(older.id, older.subscriptionId)
  logFailure(state, subscriber, triedAt, {
    outcome: "failed",
    sequence: tried.sequence,
    attempt: tried.attempt + 1,
    result: lastAttempt,
    delivery: tried,
    nextTry: triedAt
  })
  return true
}

const dropOlder = (state: State, subscriptionId: number, before: number): number => {
  const queue = state.subscriptions.get(subscriptionId)?.queue ?? new Map<number, Queued>()
  const old = waiting(queue).filter(({ waitsSince }) => waitsSince <= before)
  for (const delivery of old) queue.set(delivery.id, { delivery, dropped: true })
  return old.length
}

const waitAnew = (state: State, subscriptionId: number, since: number): void => {
  const queue = state.subscriptions.get(subscriptionId)?.queue
  for (const [id, one] of queue ?? []) {
    const { delivery, dropped } = one
    if (!dropped && delivery.waitsSince < since) {
      queue?.set(id, { ...one, delivery: { ...delivery, waitsSince: since } })
    }
  }
}

const stalled = (state: State, partitions: ReadonlySet<number>, before: number) =>
  [...state.subscriptions.values()]
    .filter(({ subscription, partition, queue }) =>
      partitions.has(partition) && subscription.state === "active" &&
      (waiting(queue)[0]?.dueAt ?? Infinity) < before
    )
    .map(({ subscription, partition }) => ({ partition, subscriptionId: subscription.id }))
