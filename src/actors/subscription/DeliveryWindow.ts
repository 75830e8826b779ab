import { countFitting, documentBytes, restartWaiting } from "#domain/delivery/Delivery.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import type { Backlog } from "#domain/ports/Outbox.ts"

/** Limits of the deliveries that one subscription holds in memory. 64 small pages fit; the others wait in the outbox. */
export const maxInMemory = { count: 64, bytes: 1 << 20 }

/**
 * The first waiting deliveries of a subscription, in order and without a gap.
 *
 *   offer 7 ──► is it the next one? ── yes ──► deliveries: 5 6 7
 *                                 └─── no ───► hasMore: `fill` reads the missing deliveries when `deliveries` is empty
 */
export interface DeliveryWindow {
  deliveries: Array<Delivery>
  /** The sequence behind `deliveries`. Lower sequences are settled, in `deliveries`, or in the outbox after a recovery. */
  nextSequence: number
  /** The outbox may hold deliveries behind these ones. */
  hasMore: boolean
}

/** The window of a subscription whose outbox is unread. */
export const emptyWindow = (): DeliveryWindow => ({ deliveries: [], nextSequence: 0, hasMore: true })

/** True when a delivery fits into memory behind these ones. */
export const hasRoom = (ahead: ReadonlyArray<Delivery>, delivery: Delivery): boolean =>
  ahead.length === 0 ||
  countFitting([...ahead, delivery].map(({ notification }) => documentBytes(notification)), maxInMemory) > ahead.length

/** Adds a new delivery at the end, or remembers that the outbox has more. */
export const offer = (window: DeliveryWindow, delivery: Delivery): void => {
  if (delivery.sequence < window.nextSequence) return
  if (delivery.sequence === window.nextSequence && !window.hasMore && hasRoom(window.deliveries, delivery)) {
    window.deliveries.push(delivery)
    window.nextSequence++
  } else {
    window.hasMore = true
  }
}

/**
 * Adds the deliveries of the outbox to an empty window, from the lowest waiting sequence on.
 *
 * Recovered deliveries have lower sequences than sent ones. The outbox skips confirmed deliveries, whose rows may still exist.
 */
export const fill = (window: DeliveryWindow, { deliveries, hasMore, nextSequence }: Backlog): void => {
  window.deliveries.push(...deliveries)
  window.nextSequence = Math.max(
    (deliveries.at(-1)?.sequence ?? 0) + 1,
    hasMore ? 0 : nextSequence,
    hasMore ? 0 : window.nextSequence
  )
  window.hasMore = hasMore
}

/** Drops the deliveries from memory; the outbox still has them. */
export const release = (window: DeliveryWindow): void => {
  const [first] = window.deliveries
  if (first === undefined) return
  window.nextSequence = first.sequence
  window.deliveries = []
  window.hasMore = true
}

/** Drops the deliveries from memory, whose rows have changed. */
export const forget = (window: DeliveryWindow): void => {
  window.deliveries = []
  window.hasMore = true
}

/** Removes the deliveries that have waited since `before` or longer (epoch ms). */
export const removeOlder = (window: DeliveryWindow, before: number): void => {
  const left = window.deliveries.findIndex(({ waitsSince }) => waitsSince > before)
  window.deliveries.splice(0, left < 0 ? window.deliveries.length : left)
}

/** Lets all waits begin at `since` (epoch ms) at the earliest. */
export const restartWaits = (window: DeliveryWindow, since: number): void => {
  window.deliveries = restartWaiting(window.deliveries, since)
}

/** Forgets all deliveries of an ended subscription. */
export const close = (window: DeliveryWindow): void => {
  window.deliveries.length = 0
  window.hasMore = false
}
