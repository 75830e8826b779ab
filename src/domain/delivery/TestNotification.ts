import type { Entry } from "#domain/feed/Entry.ts"
import type { Parcel } from "#domain/ports/Deliverer.ts"
import type { Subscription } from "#domain/Subscription.ts"
import type { Delivery, Notification } from "./Notification.ts"

/** Topic of a test without a topic of the caller. */
export const sampleTopic = (baseUrl: string): string => `${baseUrl}/test`

/** A notification with one made-up entry. `now` is epoch ms. */
export const sampleNotification = (now: number): Notification => {
  const entry: Entry = {
    id: "windhover-test-entry",
    title: { value: "Test notification", type: "text" },
    summary: { value: "A sample entry. A real notification has the entries of its topic.", type: "text" },
    published: now,
    updated: now
  }
  return testNotification({
    status: { code: 200, http: "Fetched (ring) 200 900 and parsed 1/1 entries", period: 900, lastFetch: now },
    header: { title: { value: "Windhover test", type: "text" } },
    news: { _tag: "Entries", entries: [entry] }
  }, now)
}

/** A notification that is stored nowhere. */
export const testNotification = (
  content: Pick<Notification, "status" | "header" | "news">,
  now: number
): Notification => ({ id: 0, resourceId: 0, createdAt: now, ...content })

/** The only attempt of a test. */
export const testDelivery = (notification: Notification, { id }: Subscription, credits: number): Delivery => ({
  id: 0,
  subscriptionId: id,
  sequence: 0,
  credits,
  attempt: 0,
  dueAt: notification.createdAt,
  waitsSince: notification.createdAt,
  notification
})

/** Marks a request as a test, with an id that no notification has. */
export const markAsTest = (parcel: Parcel, id: string): Parcel => ({
  ...parcel,
  id,
  headers: [
    ...parcel.headers.map(([name, value]) => [name, name === "X-Windhover-Notification-Id" ? id : value] as const),
    ["X-Windhover-Test", "true"]
  ]
})
