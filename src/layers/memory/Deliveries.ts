import { Effect } from "effect"
import { Outbox } from "#domain/ports/Outbox.ts"
import { operation, type Queued, type State } from "./State.ts"

export const make = (state: State): Outbox["Service"] =>
  Outbox.of({
    backlog: (subscriptionId, limit) => operation(state, () => backlog(state, subscriptionId, limit)),
    confirm: (deliveryId) =>
      Effect.sync(() => {
        queueOf(state, deliveryId)?.delete(deliveryId)
        state.queueOf.delete(deliveryId)
      }),
    postpone: (delivery, dueAt, attempt) =>
      operation(state, () =>
        replace(state, {
          delivery: { ...delivery, attempt: delivery.attempt + 1, dueAt },
          lastAttempt: attempt,
          dropped: false
        })),
    drop: (delivery, attempt) =>
      operation(state, () =>
        replace(state, {
          delivery: { ...delivery, attempt: delivery.attempt + 1 },
          lastAttempt: attempt,
          dropped: true
        })),
    stalled: Effect.fn("Outbox.stalled")((partitions, before) =>
      operation(state, () => stalled(state, new Set(partitions), before))
    ),
    flush: operation(state, () => {})
  })

const waiting = (queue: ReadonlyMap<number, Queued>) =>
  [...queue.values()].flatMap(({ delivery, dropped }) => dropped ? [] : [delivery])

const backlog = (state: State, subscriptionId: number, limit: number) => {
  const subscriber = state.subscriptions.get(subscriptionId)
  if (subscriber === undefined) return { deliveries: [], more: false, nextSequence: 1 }
  const all = waiting(subscriber.queue)
  return { deliveries: all.slice(0, limit), more: all.length > limit, nextSequence: subscriber.nextSequence }
}

const queueOf = (state: State, deliveryId: number) => state.subscriptions.get(state.queueOf.get(deliveryId) ?? 0)?.queue

/** What was given up stays so, and what is gone stays gone. */
const replace = (state: State, row: Queued) => {
  const queue = queueOf(state, row.delivery.id)
  if (queue?.get(row.delivery.id)?.dropped === false) queue.set(row.delivery.id, row)
}

const stalled = (state: State, partitions: ReadonlySet<number>, before: number) =>
  [...state.subscriptions.values()]
    .filter(({ subscription, partition, queue }) =>
      partitions.has(partition) && subscription.state === "active" &&
      waiting(queue).some(({ dueAt }) => dueAt < before)
    )
    .map(({ subscription, partition }) => ({ partition, subscriptionId: subscription.id }))
