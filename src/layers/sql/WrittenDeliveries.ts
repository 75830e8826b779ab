import type { Delivery, Notification } from "#domain/delivery/Notification.ts"

/** A delivery that a statement has written. */
export interface WrittenDelivery {
  readonly id: number
  readonly subscription: number
  readonly sequence: number
  readonly credits: number
  readonly notification: number
}

/** The deliveries of one notification, due now and not attempted yet. `now` is epoch ms. */
export const toDeliveries = (
  rows: ReadonlyArray<WrittenDelivery>,
  notification: Notification,
  now: number
): ReadonlyArray<Delivery> =>
  rows.map(({ credits, id, sequence, subscription }) => ({
    id,
    subscriptionId: subscription,
    sequence,
    credits,
    attempt: 0,
    dueAt: now,
    waitsSince: now,
    notification
  }))
