import { parcel, render, type SenderIdentity } from "#domain/delivery/Delivery.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { hasCredentials, maskCredentials } from "#domain/UrlCredentials.ts"
import type { SentRequest } from "./DeliveryReports.ts"

type Header = readonly [name: string, value: string]

/** Stands for a value that no report shows. */
const masked = "***"

/**
 * Headers whose values reports show. All other values are masked, so that a new header cannot reveal a secret.
 *
 * The names of credits and retries have a prefix of the settings.
 */
const shownHeaders =
  /^(?:content-type|link|webhook-id|x-pubsubhubbub-(?:callback|topic)|x-windhover-(?:notification-id|sequence)|.*-(?:credits|retried))$/i

/** The request of a delivery, rendered again. */
export const requestOf = (subscription: Subscription, delivery: Delivery, sender: SenderIdentity): SentRequest => {
  const rendered = render(delivery.notification, subscription, sender)
  const { contentType, headers, id, ownHeaders = [] } = parcel(subscription, delivery, rendered, sender, 0)
  const all: ReadonlyArray<Header> = [
    ["Content-Type", contentType],
    ...headers,
    ...(hasCredentials(subscription.endpoint) ? [["Authorization", masked] as const] : []),
    ...signatureHeaders(subscription, id)
  ]
  const own = ownHeaders.map(([name]): Header => [name, masked])
  return { headers: [...all.map(mask), ...own], body: rendered.body }
}

const signatureHeaders = ({ secret, signature, unreadable }: Subscription, id: string): ReadonlyArray<Header> =>
  secret === undefined && unreadable === undefined ? [] : [
    ["X-Hub-Signature", masked],
    ...(signature === undefined ? [["X-Hub-Signature-256", masked] as const] : []),
    ["webhook-id", id],
    ["webhook-timestamp", masked],
    ["webhook-signature", masked]
  ]

const mask = ([name, value]: Header): Header => [name, shownHeaders.test(name) ? maskCredentials(value) : masked]
