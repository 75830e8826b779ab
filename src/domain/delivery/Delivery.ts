import type { Entry } from "#domain/feed/Entry.ts"
import { reasonOfError, reasonOfStatus } from "./FailureReason.ts"
import {
  type AttemptResult,
  type Delivery,
  type Document,
  type News,
  type Notification,
  statusSentence
} from "./Notification.ts"
import type { DeliveryResponse, Parcel } from "#domain/ports/Deliverer.ts"
import { renderAtom } from "#domain/render/AtomXml.ts"
import { documentToEntry, isInFormat } from "#domain/render/DocumentEntry.ts"
import { renderJson } from "#domain/render/NotificationJson.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { hourMs, minuteMs } from "#domain/Time.ts"
import { parseRetryAfter } from "#domain/poll/RetryAfter.ts"
import { tooLargeStatus } from "./Retry.ts"

/** Milliseconds without a possible attempt that count as an outage: more than a restart or a change of owner takes. */
const outageMs = 5 * minuteMs

/**
 * True when no attempt was possible for a while before `now`: the service was down, its database unavailable, or the channel unserved.
 *
 * `dueAt` is the planned time of the attempt, `triedAt` the end of the last known one. A delivery behind others is due long before its turn.
 */
export const isAfterOutage = (dueAt: number, triedAt: number | undefined, now: number): boolean =>
  now - Math.max(dueAt, triedAt ?? dueAt) > outageMs

/** The deliveries, with waits that begin at `since` (epoch ms) at the earliest. */
export const restartWaiting = (deliveries: ReadonlyArray<Delivery>, since: number): Array<Delivery> =>
  deliveries.map((one) => ({ ...one, waitsSince: Math.max(one.waitsSince, since) }))

/** Longest wait that a callback can ask for, in ms. */
const maxRequestedWait = hourMs

/** Milliseconds that a callback asks to wait by a 429 or 503 with Retry-After; undefined for any other answer. */
export const requestedWait = (
  { retryAfter, status }: Pick<DeliveryResponse, "retryAfter" | "status">,
  now: number
): number | undefined => {
  const at = status === 429 || status === 503 ? parseRetryAfter(retryAfter, now) : undefined
  return at === undefined || at <= now ? undefined : Math.min(at - now, maxRequestedWait)
}

/** Bytes of the document that a notification holds. */
export const documentBytes = ({ news }: Notification): number =>
  (news._tag === "Document" ? news.document : news._tag === "Entries" ? news.wholeFeed : undefined)?.body.length ?? 0

/**
 * Number of leading documents that fit into memory together: at most `count` with `bytes` in all. The first one always fits, because it has to
 * be sent.
 */
export const countFitting = (
  lengths: ReadonlyArray<number>,
  { bytes, count }: { readonly bytes: number; readonly count: number }
): number => {
  let sum = 0
  const beyond = lengths.findIndex((length, i) => i === count || (sum += length) > bytes && i > 0)
  return beyond < 0 ? lengths.length : beyond
}

/** Meaning of a callback's status. A redirect is a failure, and is not followed. */
export const classifyStatus = (status: number): "delivered" | "ended" | "failed" =>
  status >= 200 && status < 300 ? "delivered" : status === 410 ? "ended" : "failed"

/** The settings that notifications show. */
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
 * The hub that documents and headers advertise. Subscribers that discover the hub have no account, so that this is the open hub.
 * With the open hub turned off it is the API, which accepts the same requests with credentials.
 */
export const hubUrlOf = ({ baseUrl, hubOpen }: Pick<SenderIdentity, "baseUrl" | "hubOpen">): string =>
  hubOpen ? `${baseUrl}/hub` : `${baseUrl}/`

/** The fields of a subscription that select its document. */
export type RenderOptions = Pick<Subscription, "topic" | "format" | "feedsOnly" | "face">

/** The document of a subscriber. Subscriptions with equal options get equal bytes. */
export const render = (notification: Notification, options: RenderOptions, sender: SenderIdentity): Rendered => {
  const { header, news } = notification
  const { face, format, topic } = options
  if (news._tag === "Document" && isSentUnchanged(news.document, options)) return news.document
  if (face === "hub" && news._tag === "Entries" && news.wholeFeed !== undefined) return news.wholeFeed
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

/** True when a document keeps its bytes: it is no feed, and the account has requested no other format. */
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

/** The fields of a subscription that its requests show or need. */
export type Addressee = Pick<
  Subscription,
  "endpoint" | "face" | "headers" | "previousSecret" | "previousSecretUntil" | "secret" | "signature" | "topic"
>

/** The fields of a delivery that its requests show. */
export type Numbered =
  & Pick<Delivery, "attempt" | "credits" | "isPart" | "sequence" | "subscriptionId">
  & { readonly notification: Pick<Notification, "id"> }

/** The request of one attempt. Deliveries of the hub face have no account, and so no credits header. */
export const parcel = (
  subscription: Addressee,
  delivery: Numbered,
  rendered: Rendered,
  sender: SenderIdentity,
  now: number
): Parcel => {
  const id = notificationIdOf(delivery)
  const made: { -readonly [field in keyof Parcel]: Parcel[field] } = {
    id,
    callback: subscription.endpoint,
    contentType: rendered.contentType,
    body: rendered.body,
    headers: headersOf(subscription, delivery, id, sender)
  }
  const { headers, previousSecret, previousSecretUntil = 0, secret, signature } = subscription
  if (headers !== undefined) made.ownHeaders = headers
  if (secret !== undefined) made.secret = secret
  if (previousSecret !== undefined && previousSecretUntil > now) made.previousSecret = previousSecret
  if (signature !== undefined) made.signature = signature
  return made
}

const headersOf = (
  subscription: Addressee,
  { attempt, credits, sequence }: Numbered,
  id: string,
  sender: SenderIdentity
): ReadonlyArray<Header> => {
  const { callback, link, topic } = addressHeadersOf(subscription, sender)
  const own: ReadonlyArray<Header> = [
    callback,
    topic,
    ["X-Windhover-Notification-Id", id],
    ["X-Windhover-Sequence", String(sequence)],
    link
  ]
  const isCounted = subscription.face !== "hub"
  if (!isCounted && attempt === 0) return own
  const counts: Array<Header> = isCounted ? serviceHeaders(sender, "Credits", String(credits)) : []
  if (attempt > 0) counts.push(...serviceHeaders(sender, "Retried", String(attempt)))
  return counts.concat(own)
}

type Header = readonly [name: string, value: string]

/** Headers that all deliveries of a subscription share, for one sender. */
interface AddressHeaders {
  readonly sender: SenderIdentity
  readonly callback: Header
  readonly topic: Header
  readonly link: Header
}

/** Made once, as long as the subscription is in memory. */
const addressHeaders = new WeakMap<Addressee, AddressHeaders>()

const addressHeadersOf = (subscription: Addressee, sender: SenderIdentity): AddressHeaders => {
  const made = addressHeaders.get(subscription)
  if (made?.sender === sender) return made
  const headers: AddressHeaders = {
    sender,
    callback: ["X-PubSubHubbub-Callback", headerValue(subscription.endpoint)],
    topic: ["X-PubSubHubbub-Topic", headerValue(subscription.topic)],
    link: ["Link", `<${linkTarget(hubUrlOf(sender))}>; rel="hub", <${linkTarget(subscription.topic)}>; rel="self"`]
  }
  addressHeaders.set(subscription, headers)
  return headers
}

const notificationIdOf = ({ isPart, notification, sequence, subscriptionId }: Numbered): string =>
  formatNotificationId({ notificationId: notification.id, subscriptionId, sequence, isPart: isPart === true })

/**
 * The id of a notification for its subscriber, stable over retries. A part of a notification has an id of its own, by its sequence, which is
 * final when the part is sent.
 */
export const formatNotificationId = (
  { isPart, notificationId, sequence, subscriptionId }: {
    readonly notificationId: number
    readonly subscriptionId: number
    readonly sequence: number
    readonly isPart: boolean
  }
): string => `${notificationId}-${subscriptionId}${isPart ? `-${sequence}` : ""}`

/** Clients read either spelling. */
const serviceHeaders = (
  sender: SenderIdentity,
  name: string,
  value: string
): Array<Header> =>
  sender.headerPrefix === "X-Service-"
    ? [[`X-Service-${name}`, value]]
    : [[`X-Service-${name}`, value], [`${sender.headerPrefix}${name}`, value]]

/** Percent-encodes characters that a header cannot have, as the UTF-8 that a browser sends. */
const headerValue = (text: string): string =>
  text.replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(wellFormed(character)))

const wellFormed = (character: string): string => character.isWellFormed() ? character : "\ufffd"

const linkTarget = (topic: string): string => headerValue(topic).replaceAll(">", "%3E").replaceAll("<", "%3C")

/** Whether a callback refused several entries as too large, so that fewer entries may pass. A whole feed is sent as it is. */
export const needsSplit = (
  { notification: { news } }: Delivery,
  { face }: Pick<Subscription, "face">,
  code: number
): boolean =>
  code === tooLargeStatus && news._tag === "Entries" && news.entries.length > 1 &&
  !(face === "hub" && news.wholeFeed !== undefined)

/** Describes the failed attempt of a callback. Names the callback's reason where the status tells one. */
export const describeFailedAttempt = (
  { excerpt, latency, retryAfter, status }: DeliveryResponse,
  delivery: Delivery,
  subscription: Pick<Subscription, "face">,
  now: number,
  bytes: number
): AttemptResult => {
  const remark = status === tooLargeStatus
    ? describeTooLarge(delivery, subscription)
    : reasonOfStatus(status) === "redirect"
    ? "Redirects are not followed: subscribe the new URL."
    : describeRequestedWait(requestedWait({ status, ...(retryAfter !== undefined && { retryAfter }) }, now))
  const sentence = statusSentence(status)
  return {
    code: status,
    message: remark === undefined ? sentence : `${sentence} ${remark}`,
    reason: reasonOfStatus(status),
    ...(excerpt !== "" && { answer: excerpt }),
    latency: Math.round(latency),
    bytes
  }
}

/** Describes an attempt without an answer. Without a connection, no byte of the body was sent. */
export const describeSilence = (
  { message, reason }: { readonly message: string; readonly reason: { readonly _tag: keyof typeof reasonOfError } },
  bytes: number
): AttemptResult => ({
  code: 0,
  message,
  reason: reasonOfError[reason._tag],
  ...((reason._tag === "Timeout" || reason._tag === "Protocol") && { bytes })
})

/** Describes the refusal of several entries that wait ahead of delivered notifications, see `Outbox.split`. */
export const describeUnsplit = (attempt: AttemptResult, { notification: { news } }: Delivery): AttemptResult => {
  const entries = news._tag === "Entries" ? news.entries.length : 1
  const remark = `It takes no ${entries} entries at once; they are not split, because a later sequence is used already.`
  return { ...attempt, message: `${statusSentence(attempt.code)} ${remark}` }
}

const describeTooLarge = (delivery: Delivery, subscription: Pick<Subscription, "face">): string => {
  const { news } = delivery.notification
  if (news._tag === "Entries" && needsSplit(delivery, subscription, tooLargeStatus)) {
    return `It takes no ${news.entries.length} entries at once; they are sent again as two notifications.`
  }
  const content = news._tag === "Failure"
    ? "a status"
    : news._tag === "Entries" && subscription.face === "api"
    ? "one entry"
    : "one document"
  return `It takes no notification of this size; ${content} cannot be split.`
}

const describeRequestedWait = (wait: number | undefined): string | undefined =>
  wait === undefined ? undefined : `It asks to wait ${Math.ceil(wait / 1000)} s.`

/** Describes an accepted notification. Nothing of its answer is kept. */
export const describeSuccess = (
  { latency, status }: Pick<DeliveryResponse, "latency" | "status">,
  bytes: number
): AttemptResult => ({ code: status, message: statusSentence(status), latency: Math.round(latency), bytes })
