import { type Feed, parseFeed } from "./Feed.ts"
import { ReceiverError } from "./ReceiverError.ts"

/** Fields of every notification. */
export interface NotificationFields {
  /** Stays the same at each retry; undefined from a sender without ids. */
  readonly id: string | undefined
  /** 1, 2, 3 … in the subscription; undefined for a test, and from a sender without numbers. */
  readonly sequence: number | undefined
  /** The subscription's number in Windhover; undefined from other senders. */
  readonly subscription: string | undefined
  /** The topic as subscribed. */
  readonly topic: string
  /** True for a test of Windhover, which has the newest content of the topic or a sample. */
  readonly test?: boolean
  readonly contentType: string
  /** The bytes as sent. */
  readonly body: Uint8Array<ArrayBuffer>
  readonly headers: Headers
}

/** A notification. `feed` belongs to JSON, `text` to JSON and Atom; a document of another kind has its bytes alone. */
export type Notification =
  | NotificationFields & { readonly format: "json"; readonly feed: Feed; readonly text: string }
  | NotificationFields & { readonly format: "atom"; readonly text: string }
  | NotificationFields & { readonly format: "document" }

const maxIdLength = 256

/** Reads the headers and the body of a verified request. A signed `webhook-id` takes precedence over the unsigned header. */
export const readNotification = (
  headers: Headers,
  body: Uint8Array<ArrayBuffer>,
  signedId: string | undefined
): Notification => {
  const id = signedId ?? headers.get("x-windhover-notification-id") ?? undefined
  if (id !== undefined && (id === "" || id.length > maxIdLength)) {
    throw new ReceiverError("invalid-header", `A notification id has 1 to ${maxIdLength} characters.`)
  }
  const test = isTest(headers, id)
  return toNotification({
    id,
    sequence: test ? undefined : readSequence(headers.get("x-windhover-sequence")),
    subscription: id === undefined ? undefined : subscriptionOf(id),
    topic: headers.get("x-pubsubhubbub-topic") ?? selfOf(headers.get("link")) ?? "",
    ...(test && { test }),
    contentType: headers.get("content-type") ?? "application/octet-stream",
    body,
    headers
  })
}

/** The id counts too, because it can be signed: an added header makes no test of a repeated notification. */
const isTest = (headers: Headers, id: string | undefined): boolean =>
  headers.get("x-windhover-test") === "true" && id?.startsWith("test-") === true

const jsonPattern = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
const atomPattern = /^application\/atom\+xml\s*(?:;|$)/i

/** Adds the format and the parsed content. */
export const toNotification = (fields: NotificationFields): Notification => {
  const { body, contentType } = fields
  if (atomPattern.test(contentType)) return { ...fields, format: "atom", text: decoder.decode(body) }
  if (!jsonPattern.test(contentType)) return { ...fields, format: "document" }
  const text = decoder.decode(body)
  const feed = parseFeed(text)
  return feed === undefined ? { ...fields, format: "document" } : { ...fields, format: "json", feed, text }
}

const decoder = new TextDecoder()

const readSequence = (text: string | null): number | undefined => {
  if (text === null) return undefined
  if (!/^[1-9]\d{0,14}$/.test(text)) {
    throw new ReceiverError("invalid-header", "X-Windhover-Sequence is a positive integer of at most 15 digits.")
  }
  return Number(text)
}

/** The second number of `NOTIFICATION-SUBSCRIPTION`; a third number belongs to a part of a notification. */
const subscriptionOf = (id: string): string | undefined => /^\d+-(\d+)(?:-\d+)?$/.exec(id)?.[1]

/** The target of `rel="self"`, in which other WebSub hubs name the topic. */
const selfOf = (link: string | null): string | undefined =>
  /<([^<>]*)>\s*;\s*rel="?self"?/i.exec((link ?? "").slice(0, 8_192))?.[1]
