import { Effect } from "effect"
import type { Notification } from "#domain/delivery/Notification.ts"
import { type ReplayContent, type ReplayLimits, type ReplayOutcome, Replays } from "#domain/ports/Replays.ts"
import { charge } from "./Resources.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): Replays["Service"] =>
  Replays.of({
    enqueue: Effect.fn("Replays.enqueue")((subscriptionId, replayed, bounds) =>
      operation(state, (now) => queue(state, subscriptionId, replayed, bounds, now))
    ),
    progress: Effect.fn("Replays.progress")((deliveryId) =>
      operation(state, () => {
        const row = state.subscriptions.get(state.queueOf.get(deliveryId) ?? 0)?.queue.get(deliveryId)
        return row === undefined ? { _tag: "Gone" } : { _tag: "Waiting", failed: row.lastAttempt }
      })
    )
  })

const queue = (
  state: State,
  subscriptionId: number,
  replayed: ReplayContent,
  bounds: ReplayLimits,
  now: number
): ReplayOutcome => {
  const subscriber = state.subscriptions.get(subscriptionId)
  if (subscriber === undefined) return { _tag: "Gone" }
  const { accountId, resourceId } = subscriber.subscription
  const others = [...subscriber.queue.values()].filter(({ dropped }) => !dropped).length
  if (others >= bounds.count) return { _tag: "TooMany" }
  const size = bytesOf(replayed.news)
  const bytes = waiting(state, accountId)
  if (size > 0 && bytes + size > bounds.bytes) return { _tag: "Full", bytes }
  const id = state.serial()
  const { header, status } = replayed
  const notification: Notification = {
    id: state.serial(),
    resourceId,
    createdAt: now,
    status,
    ...(header !== undefined && { header }),
    news: newsOf(state, resourceId, replayed)
  }
  const delivery = {
    id,
    subscriptionId,
    sequence: subscriber.nextSequence++,
    credits: charge(state, accountId),
    attempt: 0,
    dueAt: now,
    waitsSince: now,
    notification
  }
  subscriber.queue.set(id, { delivery, dropped: false })
  state.queueOf.set(id, subscriptionId)
  return { _tag: "Queued", id }
}

const bytesOf = (news: Notification["news"] | ReplayContent["news"]): number =>
  news._tag === "Document" ? news.document.body.length : 0

/** Bytes of replayed documents that wait for subscriptions of an account, or were dropped. */
const waiting = (state: State, accountId: number): number => {
  let bytes = 0
  for (const { queue, subscription } of state.subscriptions.values()) {
    if (subscription.accountId !== accountId) continue
    for (const { delivery: { notification } } of queue.values()) {
      if (isReplayed(state, notification)) bytes += bytesOf(notification.news)
    }
  }
  return bytes
}

/** It has no place among the notifications of its resource. */
const isReplayed = (state: State, notification: Notification): boolean =>
  state.notifications.get(notification.resourceId)?.every((numbered) => numbered.notification !== notification) !==
    false

const newsOf = (state: State, resourceId: number, { news }: ReplayContent): Notification["news"] =>
  news._tag === "Document" ? news : {
    _tag: "Entries",
    entries: news.ids.flatMap((id) => state.entries.get(resourceId)?.get(id)?.entry ?? [])
  }
