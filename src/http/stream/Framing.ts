import { render, type SenderIdentity } from "#domain/delivery/Delivery.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import type { Format } from "#domain/Subscription.ts"
import { toJsonLine } from "#http/Json.ts"
import { type Frame, makeFrame } from "./Frame.ts"

/** Framing of the documents in a stream: as server-sent events, as one JSON line each, or as one Atom document each. */
export type Framing = "events" | "lines" | "atom"

export const contentTypes: { readonly [framing in Framing]: string } = {
  events: "text/event-stream",
  lines: "application/x-ndjson; charset=utf-8",
  atom: "application/atom+xml"
}

/**
 * Heartbeats. They keep proxies from closing an idle stream, and reveal clients that are gone.
 *
 * Parsers skip a space before a line of JSON, but not an empty line. They skip a line break after an Atom document, but no other
 * character before the next `<?xml`.
 */
export const heartbeats: { readonly [framing in Framing]: Frame } = {
  events: makeFrame(":\n\n"),
  lines: makeFrame(" "),
  atom: makeFrame("\n")
}

/**
 * Frames a document; only server-sent events carry the `id`.
 *
 * Each line of the document gets its own `data:`, because a line break (CR too) in a publisher's text could start another field.
 */
export const frameDocument = (
  framing: Framing,
  body: Uint8Array | string,
  event: string,
  id: string | undefined
): Buffer =>
  framing === "events"
    ? Buffer.from(`event: ${event}\n${idField(id)}${dataFields(body)}\n`)
    : Buffer.concat([Buffer.from(body), newline])

/** The `id` field alone, for listeners that share a frame but not a cursor. Removes line breaks and NUL, which would break the field. */
export const idField = (id: string | undefined): string =>
  id === undefined ? "" : `id: ${id.replaceAll(/[\r\n\0]/g, "")}\n`

const dataFields = (body: Uint8Array | string): string =>
  `data: ${(typeof body === "string" ? body : decoder.decode(body)).replaceAll(/\r\n?|\n/g, "\ndata: ")}\n`

const newline = Buffer.from("\n")

const decoder = new TextDecoder()

/** Renders a notification in the format. Undefined when a stream cannot carry the notification: only feeds, and JSON as JSON, can be streamed. */
export const renderNotification = (
  notification: Notification,
  topic: string,
  format: Format,
  sender: SenderIdentity
): Uint8Array | string | undefined =>
  notification.news._tag === "Document"
    ? format === "json" ? toJsonLine(notification.news.document) : undefined
    : render(notification, { face: "api", topic, format }, sender).body
