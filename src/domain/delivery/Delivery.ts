import type { Entry } from "#domain/feed/Entry.ts"
import type { AttemptResult, Delivery, Document, News, Notification } from "./Notification.ts"
import type { DeliveryResponse, Parcel } from "#domain/ports/Deliverer.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { documentToEntry, isInFormat } from "#domain/render/DocumentEntry.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { Face, Subscription } from "#domain/Subscription.ts"

/**
 * Milliseconds from a failed try to the next one; after the last of them the delivery is dropped.
 *
 * On the API face 5, 10 and 15 s: a retrieve recovers what was dropped. On the hub face, which has none, twice as long each time: 5, 10, 20 s …
 * up to 11 h 23 min, all of them together 22 h 45 min.
 */
const waits: { readonly [face in Face]: ReadonlyArray<number> } = {
  api: [5_000, 10_000, 15_000],
  hub: Array.from({ length: 14 }, (_, failed) => 5_000 * 2 ** failed)
}

/**
 * Nothing waits longer than so many ms for a callback that fails. Each is tried before the next, so that those behind one which was tried
 * for most of a day have waited for as long: without an end their number, and what they hold of documents, would grow with the lease.
 */
export const maxWaitingMs = 24 * 60 * 60_000

/** Longer than a restart takes, or another runner to take over. Milliseconds. */
const outageMs = 5 * 60_000

/**
 * Whether nobody could try for a while before `now`: the service was down, its database away, the channel not served.
 *
 * `dueAt` is when the try was due, `triedAt` when the last one ended that is known of: what is behind others is due long before its turn.
 */
export const isAfterOutage = (dueAt: number, triedAt: number | undefined, now: number): boolean =>
  now - Math.max(dueAt, triedAt ?? dueAt) > outageMs

/** The deliveries, of which none has waited since before `since`. */
export const restartWaiting = (deliveries: ReadonlyArray<Delivery>, since: number): Array<Delivery> =>
  deliveries.map((one) => ({ ...one, waitsSince: Math.max(one.waitsSince, since) }))

/** What comes after a failed try of a subscription made through `face`; `failed` counts it, and `since` is when the waiting began (epoch ms). */
export const afterFailure = (
  face: Face,
  failed: number,
  since: number,
  now: number
): { readonly _tag: "Drop" } | { readonly _tag: "Retry"; readonly dueAt: number } => {
  const wait = waits[face][failed - 1]
  return wait === undefined || now + wait > since + maxWaitingMs
    ? { _tag: "Drop" }
    : { _tag: "Retry", dueAt: now + wait }
}

/**
 * When the next try is due, epoch ms: at once, when it is further away than any wait is. A clock that was ahead planned it, and has been set right
 * since.
 */
export const nextTry = (face: Face, { attempt, dueAt }: Pick<Delivery, "attempt" | "dueAt">, now: number): number =>
  dueAt > now + (waits[face][attempt - 1] ?? 0) ? now : dueAt

/** Bytes of the document that a notification holds. */
export const documentBytes = ({ news }: Notification): number =>
  (news._tag === "Document" ? news.document : news._tag === "Entries" ? news.whole : undefined)?.body.length ?? 0

/** How many of these may be in memory together, in their order: `count` of them with `bytes` in all, and one however large; it has to be sent. */
export const countFitting = (
  lengths: ReadonlyArray<number>,
  { bytes, count }: { readonly bytes: number; readonly count: number }
): number => {
  let sum = 0
  const beyond = lengths.findIndex((length, i) => i === count || (sum += length) > bytes && i > 0)
  return beyond < 0 ? lengths.length : beyond
}

/** Failed tries of a subscription that are kept, at most. */
const logSlots = 64

/**
 * Where the log of a subscription keeps a failed try (1: the first one; 0: what was taken and came back): in a ring, so that nothing has to be counted or deleted.
 * All tries of four notifications in succession have places of their own; whoever comes later takes one over.
 */
export const logSlotOf = (sequence: number, attempt: number): number => (sequence * 16 + attempt) % logSlots

/** Where the log of a subscription keeps its last success. */
export const successSlot = logSlots

/** What the answer of a callback means. A redirect is no success, and is not followed. */
export const classifyStatus = (status: number): "delivered" | "ended" | "failed" =>
  status >= 200 && status < 300 ? "delivered" : status === 410 ? "ended" : "failed"

/** The part of the settings that shows in notifications. */
export interface SenderIdentity {
  readonly baseUrl: string
  readonly hubOpen: boolean
  readonly extNamespace: string
  readonly headerPrefix: string
}

/** A body as it goes out. */
export interface Rendered {
  readonly contentType: string
  readonly body: Uint8Array
}

/**
 * Where documents and headers say that a hub is: subscribers who find it there have no account, so that it is the open one.
 * With that turned off it is the API, which takes the same requests with credentials.
 */
export const hubUrlOf = ({ baseUrl, hubOpen }: Pick<SenderIdentity, "baseUrl" | "hubOpen">): string =>
  hubOpen ? `${baseUrl}/hub` : `${baseUrl}/`

/** What decides over the document that a subscriber gets. */
export type RenderOptions = Pick<Subscription, "topic" | "format" | "feedsOnly" | "face">

/** The document of a subscriber; the same for all who wrote the topic alike, through the same face, and chose the same format. */
export const render = (notification: Notification, wish: RenderOptions, sender: SenderIdentity): Rendered => {
  const { header, news } = notification
  const { face, format, topic } = wish
  if (news._tag === "Document" && isSentUnchanged(news.document, wish)) return news.document
  if (face === "hub" && news._tag === "Entries" && news.whole !== undefined) return news.whole
  const status = { ...notification.status, feed: topic }
  const entries = entriesOf(news, status)
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
          hub: hubUrlOf(sender),
          self: topic
        })
      )
    }
}

/** What is no feed keeps its bytes, unless an account asked for a format that it does not have. */
const isSentUnchanged = (document: Document, { face, feedsOnly, format }: RenderOptions): boolean =>
  face === "hub" || format === undefined || feedsOnly === true || isInFormat(document, format)

const entriesOf = (news: News, status: Status): ReadonlyArray<Entry> | undefined => {
  switch (news._tag) {
    case "Entries":
      return news.entries
    case "Document":
      return [documentToEntry(news.document, status)]
    case "Failure":
      return undefined
  }
}

const encoder = new TextEncoder()

/** One try of a delivery, ready for the callback. On the hub face nobody has an account, and so no credits. */
export const parcel = (
  subscription: Subscription,
  delivery: Delivery,
  rendered: Rendered,
  sender: SenderIdentity
): Parcel => ({
  callback: subscription.endpoint,
  contentType: rendered.contentType,
  body: rendered.body,
  headers: [
    ...(subscription.face === "hub" ? [] : serviceHeaders(sender, "Credits", String(delivery.credits))),
    ...(delivery.attempt > 0 ? serviceHeaders(sender, "Retried", String(delivery.attempt)) : []),
    ["X-PubSubHubbub-Callback", headerValue(subscription.endpoint)],
    ["X-PubSubHubbub-Topic", headerValue(subscription.topic)],
    ["X-Windhover-Notification-Id", `${delivery.notification.id}-${subscription.id}`],
    ["X-Windhover-Sequence", String(delivery.sequence)],
    ["Link", `<${linkTarget(hubUrlOf(sender))}>; rel="hub", <${linkTarget(subscription.topic)}>; rel="self"`]
  ],
  ...(subscription.secret === undefined ? {} : { secret: subscription.secret }),
  ...(subscription.signature === undefined ? {} : { signature: subscription.signature })
})

/** Existing clients read either spelling. */
const serviceHeaders = (
  sender: SenderIdentity,
  name: string,
  value: string
): ReadonlyArray<readonly [string, string]> =>
  sender.headerPrefix === "X-Service-"
    ? [[`X-Service-${name}`, value]]
    : [[`X-Service-${name}`, value], [`${sender.headerPrefix}${name}`, value]]

/** A URL as subscribers write it may hold any character, a header only some: the others go as the UTF-8 that a browser would send. */
const headerValue = (text: string): string =>
  text.replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(wellFormed(character)))

const wellFormed = (character: string): string => character.isWellFormed() ? character : "\ufffd"

const linkTarget = (topic: string): string => headerValue(topic).replaceAll(">", "%3E").replaceAll("<", "%3C")

/** In words, for the log and for the dropped row. */
export const describeResponse = ({ excerpt, latency, status }: DeliveryResponse): Required<AttemptResult> => ({
  code: status,
  message: excerpt === "" ? `The callback answered ${status}.` : `The callback answered ${status}: ${excerpt}`,
  latency: Math.round(latency)
})
