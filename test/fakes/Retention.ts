import { Effect } from "effect"
import { Retention } from "#domain/ports/Retention.ts"
import { firstPositionAt } from "#domain/delivery/DeliveryLogEntry.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { operation, removeResource, type State } from "./State.ts"

export const make = (state: State): Retention["Service"] =>
  Retention.of({
    pruneDeliveries: Effect.fn("Retention.pruneDeliveries")((partition, before, limit) =>
      operation(state, () => expire(state, partition, before, limit))
    ),
    pruneDeliveryLog: Effect.fn("Retention.pruneDeliveryLog")((before, limit) =>
      operation(state, () => trimLog(state, firstPositionAt(before), limit))
    ),
    pruneEntries: Effect.fn("Retention.pruneEntries")((partition, keep, after) =>
      operation(state, () => {
        const [resource] = [...state.resources.values()].filter((one) => one.partition === partition && one.id > after)
        return { deleted: resource === undefined ? 0 : trim(state, resource, keep), next: resource?.id }
      })
    ),
    pruneResources: Effect.fn("Retention.pruneResources")((partition, before, limit) =>
      operation(state, () => {
        const expired = [...state.unwatchedSince]
          .filter(([id, since]) => state.resources.get(id)?.partition === partition && since < before)
          .filter(([id]) => (state.subscribers.get(id)?.size ?? 0) === 0)
          .toSorted(([, a], [, b]) => a - b)
          .map(([id]) => id)
        const deleted = expired.slice(0, limit)
        for (const id of deleted) removeResource(state, id)
        return { deleted, isFinished: expired.length < limit }
      })
    ),
    pruneHubs: Effect.fn("Retention.pruneHubs")((before, limit) => operation(state, () => forget(state, before, limit)))
  })

const trimLog = (state: State, before: bigint, limit: number): number => {
  const ends = state.ends.filter(({ position }) => position < before).slice(0, limit)
  for (const end of ends) state.ends.splice(state.ends.indexOf(end), 1)
  const attempts = [...state.subscriptions.values()].flatMap(({ log }) =>
    [...log].flatMap(([slot, { position }]) => position < before ? [{ log, slot }] : [])
  ).slice(0, limit)
  for (const { log, slot } of attempts) log.delete(slot)
  return Math.max(ends.length, attempts.length)
}

const forget = ({ hubs, upstreams }: State, before: number, limit: number): number => {
  const asked = new Set([...upstreams.values()].map(({ hub }) => hub))
  const left = [...hubs.values()]
    .filter(({ countedAt, tally }) => countedAt < before && !asked.has(tally.hub))
    .toSorted((a, b) => a.countedAt - b.countedAt)
    .slice(0, limit)
  for (const { tally } of left) hubs.delete(tally.hub)
  return left.length
}

const expire = (state: State, partition: number, before: number, limit: number): number => {
  const expired = [...state.subscriptions.values()]
    .filter((subscriber) => subscriber.partition === partition)
    .flatMap(({ queue, subscription }) => {
      const isPaused = subscription.state === "paused"
      return [...queue.values()].flatMap(({ delivery, dropped }) =>
        (dropped ? delivery.dueAt < before : isPaused && delivery.waitsSince < before) ? [{ queue, delivery }] : []
      )
    })
    .toSorted((a, b) => a.delivery.dueAt - b.delivery.dueAt)
    .slice(0, limit)
  for (const { delivery, queue } of expired) {
    queue.delete(delivery.id)
    state.queueOf.delete(delivery.id)
  }
  return expired.length
}

const trim = (state: State, { id, seen }: ResourceState, keep: number): number => {
  const all = state.entries.get(id)
  if (all === undefined) return 0
  const needed = new Set(
    (state.notifications.get(id) ?? []).flatMap(({ notification: { news } }) =>
      news._tag === "Entries" ? news.entries.map((entry) => entry.id) : []
    )
  )
  const old = [...all.values()]
    .toSorted((a, b) => b.arrival - a.arrival)
    .slice(Math.max(keep, Math.floor(seen.byteLength / 8)))
    .filter(({ entry }) => !needed.has(entry.id))
  for (const { entry } of old) all.delete(entry.id)
  return old.length
}
