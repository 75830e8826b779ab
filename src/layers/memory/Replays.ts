import { Effect, Option } from "effect"
import type { Notification } from "#domain/Notification.ts"
import { type Replayed, Replays } from "#domain/ports/Replays.ts"
import { charge } from "./Resources.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): Replays["Service"] =>
  Replays.of({
    queue: Effect.fn("Replays.queue")((subscriptionId, replayed) =>
      operation(state, (now) => Option.fromNullishOr(queue(state, subscriptionId, replayed, now)))
    ),
    bytes: Effect.fn("Replays.bytes")((accountId) =>
      operation(state, () =>
        [...state.subscriptions.values()].filter(({ subscription }) =>
          subscription.accountId === accountId
        )
          .flatMap(({ queue }) => [...queue.values()]).filter(({ delivery }) =>
            isReplayed(state, delivery.notification)
          )
          .reduce(
            (bytes, { delivery: { notification: { news } } }) =>
              bytes + (news._tag === "Document" ? news.document.body.length : 0),
            0
          ))
    ),
    progress: Effect.fn("Replays.progress")((deliveryId) =>
      operation(state, () => {
        const row = state.subscriptions.get(state.queueOf.get(deliveryId) ?? 0)?.queue.get(deliveryId)
        return row === undefined ? { _tag: "Gone" } : { _tag: "Waiting", failed: row.lastAttempt }
      })
    )
  })

const queue = (state: State, subscriptionId: number, replayed: Replayed, now: number): number | undefined => {
  const subscriber = state.subscriptions.get(subscriptionId)
  if (subscriber === undefined) return undefined
  const { accountId, resourceId } = subscriber.subscription
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
    notification
  }
  subscriber.queue.set(id, { delivery, dropped: false })
  state.queueOf.set(id, subscriptionId)
  return id
}

/** It has no place among the notifications of its resource. */
const isReplayed = (state: State, notification: Notification): boolean =>
  state.notifications.get(notification.resourceId)?.every((numbered) => numbered.notification !== notification) !==
    false

const newsOf = (state: State, resourceId: number, { news }: Replayed): Notification["news"] =>
  news._tag === "Document" ? news : {
    _tag: "Entries",
    entries: news.ids.flatMap((id) => state.entries.get(resourceId)?.get(id)?.entry ?? [])
  }
