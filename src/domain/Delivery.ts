import type { Attempt, Delivery, Notification } from "./Notification.ts"
import type { Parcel } from "./ports/Deliverer.ts"
import { renderAtom } from "./render/AtomXml.ts"
import { renderJson } from "./render/NotificationJson.ts"
import type { Face, Format, Subscription } from "./Subscription.ts"

/** Milliseconds from a failed try to the next one: 5, 10 and 15 s. After the fourth failure the delivery is dropped. */
const waits: { readonly [face in Face]: ReadonlyArray<number> } = {
  api: [5_000, 10_000, 15_000],
  hub: [5_000, 10_000, 15_000]
}

/** What comes after a failed try of a subscription made through `face`; `failed` counts it. */
export const afterFailure = (
  face: Face,
  failed: number,
  now: number
): { readonly _tag: "Drop" } | { readonly _tag: "Retry"; readonly dueAt: number } => {
  const wait = waits[face][failed - 1]
  return wait === undefined ? { _tag: "Drop" } : { _tag: "Retry", dueAt: now + wait }
}

/** What the answer of a callback means. A redirect is no success, and is not followed. */
export const verdict = (status: number): "delivered" | "ended" | "failed" =>
  status >= 200 && status < 300 ? "delivered" : status === 410 ? "ended" : "failed"

/** The part of the settings that shows in notifications. */
export interface Sender {
  readonly baseUrl: string
  readonly extNamespace: string
  readonly headerPrefix: string
}

/** A body as it goes out. */
export interface Rendered {
  readonly contentType: string
  readonly body: Uint8Array
}

/** The document that a subscriber of `topic` gets; the same for all who wrote the topic alike and chose the same format. */
export const render = (
  notification: Notification,
  topic: string,
  format: Format | undefined,
  sender: Sender
): Rendered => {
  const { header, news } = notification
  if (news._tag === "Document") return news.document
  const status = { ...notification.status, feed: topic }
  const entries = news._tag === "Entries" ? news.entries : undefined
  return format === "json"
    ? {
      contentType: "application/json; charset=utf-8",
      body: encoder.encode(renderJson({ status, header, entries }))
    }
    : {
      contentType: "application/atom+xml",
      body: encoder.encode(
        renderAtom({
          status,
          header,
          entries: entries ?? [],
          extNamespace: sender.extNamespace,
          hub: sender.baseUrl,
          self: topic
        })
      )
    }
}

const encoder = new TextEncoder()

/** One try of a delivery, ready for the callback. */
export const parcel = (subscription: Subscription, delivery: Delivery, rendered: Rendered, sender: Sender): Parcel => ({
  callback: subscription.endpoint,
  contentType: rendered.contentType,
  body: rendered.body,
  headers: [
    ...spelled(sender, "Credits", String(delivery.credits)),
    ...(delivery.attempt > 0 ? spelled(sender, "Retried", String(delivery.attempt)) : []),
    ["X-PubSubHubbub-Callback", headerValue(subscription.endpoint)],
    ["X-PubSubHubbub-Topic", headerValue(subscription.topic)],
    ["X-Windhover-Notification-Id", `${delivery.notification.id}-${subscription.id}`],
    ["X-Windhover-Sequence", String(delivery.sequence)],
    ["Link", `<${headerValue(sender.baseUrl)}/hub>; rel="hub", <${linkTarget(subscription.topic)}>; rel="self"`]
  ],
  ...(subscription.secret === undefined ? {} : { secret: subscription.secret })
})

/** Existing clients read either spelling. */
const spelled = (sender: Sender, name: string, value: string): ReadonlyArray<readonly [string, string]> =>
  sender.headerPrefix === "X-Service-"
    ? [[`X-Service-${name}`, value]]
    : [[`X-Service-${name}`, value], [`${sender.headerPrefix}${name}`, value]]

/** A URL as subscribers write it may hold any character, a header only some: the others go as the UTF-8 that a browser would send. */
const headerValue = (text: string): string =>
  text.replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(legal(character)))

const legal = (character: string): string => character.isWellFormed() ? character : "\ufffd"

const linkTarget = (topic: string): string => headerValue(topic).replaceAll(">", "%3E").replaceAll("<", "%3C")

/** In words, for the log and for the dropped row. */
export const describeFailure = (status: number, excerpt: string): Attempt => ({
  code: status,
  message: excerpt === "" ? `The callback answered ${status}.` : `The callback answered ${status}: ${excerpt}`
})
