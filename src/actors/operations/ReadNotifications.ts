import { Effect } from "effect"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { formatNotificationId, render } from "#domain/delivery/Delivery.ts"
import { Redelivery } from "#domain/ports/Redelivery.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { makeFindSubscription } from "./FindSubscription.ts"
import type { NotificationPage, ReadNotificationsRequest } from "./Recovery.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Stored bytes of a page. A single larger notification is a page of its own. */
const maxPageBytes = 1 << 20

/** Pages that are read and rendered at once. Each may hold a document of 8 MiB. */
const maxConcurrentPages = 8

/** `Recovery.readNotifications`: notifications of a subscription behind a sequence, rendered as they are sent. */
export const makeReadNotifications = Effect.gen(function*() {
  const redelivery = yield* Redelivery
  const settings = yield* Settings
  const findSubscription = yield* makeFindSubscription
  const semaphore = new FifoSemaphore(maxConcurrentPages)

  return Effect.fn("Recovery.readNotifications")(
    function*({ after, caller, limit, ...name }: ReadNotificationsRequest) {
      const subscription = yield* findSubscription(caller, name)
      const { items, lastSequence, next } = yield* refuseStoreErrors(
        redelivery.readAfter(subscription.id, after, { count: limit, bytes: maxPageBytes })
      )
      return {
        subscription,
        notifications: items.map(({ isPart, notification, sequence }) => ({
          sequence,
          id: formatNotificationId({
            notificationId: notification.id,
            subscriptionId: subscription.id,
            sequence,
            isPart
          }),
          createdAt: notification.createdAt,
          ...render(notification, subscription, settings)
        })),
        ...(next !== undefined && { next }),
        lastSequence
      } satisfies NotificationPage
    },
    (effect) => semaphore.withPermit(effect)
  )
})
