import { countFitting, documentBytes, restartWaiting } from "#domain/delivery/Delivery.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import type { Backlog } from "#domain/ports/Outbox.ts"

/** Limits of the deliveries that one subscription holds in memory. 64 small pages fit; the others wait in the outbox. */
export const maxAhead = { count: 64, bytes: 1 << 20 }

/**
 * The first waiting deliveries of a subscription, in order and without a gap.
 *
 *   offer 7 ──► is it the next one? ── yes ──► ahead: 5 6 7
 *                                 └─── no ───► more: the outbox has the missing deliveries; `fill` reads them when `ahead` is empty
 */
export interface DeliveryWindow {
  ahead: Array<Delivery>
  /** The sequence behind `ahead`. Lower sequences are sent, or in `ahead`. */
  next: number
  /** The outbox may hold deliveries behind `ahead`. */
  more: boolean
}

/** The window of a subscription whose outbox is unread. */
export const emptyWindow = (): DeliveryWindow => ({ ahead: [], next: 0, more: true })

/** True when a delivery fits into memory behind these ones. */
export const hasRoom = (ahead: ReadonlyArray<Delivery>, delivery: Delivery): boolean =>
  countFitting([...ahead, delivery].map(({ notification }) => documentBytes(notification)), maxAhead) > ahead.length

/** Adds a new delivery at the end, or remembers that the outbox has more. */
export const offer = (window: DeliveryWindow, delivery: Delivery): void => {
  if (delivery.sequence < window.next) return
  if (delivery.sequence === window.next && !window.more && hasRoom(window.ahead, delivery)) {
    window.ahead.push(delivery)
    window.next++
  } else {
    window.more = true
  }
}

/** Adds the deliveries of the outbox. Deliveries that are sent but unconfirmed in the database are skipped. */
export const fill = (window: DeliveryWindow, { deliveries, more, nextSequence }: Backlog): void => {
  const unsent = deliveries.filter(({ sequence }) => sequence >= window.next)
  window.ahead.push(...unsent)
  window.next = (unsent.at(-1)?.sequence ?? Math.max(nextSequence, window.next) - 1) + 1
  window.more = more && unsent.length > 0
}

/** Drops the deliveries from memory; the outbox still has them. */
export const release = (window: DeliveryWindow): void => {
  const [first] = window.ahead
  if (first === undefined) return
  window.next = first.sequence
  window.ahead = []
  window.more = true
}

/** Removes the deliveries that have waited since `before` or longer (epoch ms). */
export const removeOlder = (window: DeliveryWindow, before: number): void => {
  const left = window.ahead.findIndex(({ waitsSince }) => waitsSince > before)
  window.ahead.splice(0, left < 0 ? window.ahead.length : left)
}

/** Lets all waits begin at `since` (epoch ms) at the earliest. */
export const restartWaits = (window: DeliveryWindow, since: number): void => {
  window.ahead = restartWaiting(window.ahead, since)
}

/** Forgets all deliveries of an ended subscription. */
export const close = (window: DeliveryWindow): void => {
  window.ahead.length = 0
  window.more = false
}
