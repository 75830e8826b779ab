import { render, type SenderIdentity } from "#domain/delivery/Delivery.ts"
import type { Notification } from "#domain/delivery/Notification.ts"
import type { Asked } from "#http/Negotiation.ts"

/** How the documents of a stream follow each other: as server-sent events, a line each, or one Atom document after the other. */
export type Framing = "events" | "lines" | "atom"

export const contentTypes: { readonly [framing in Framing]: string } = {
  events: "text/event-stream",
  lines: "application/x-ndjson; charset=utf-8",
  atom: "application/atom+xml"
}

/**
 * What means nothing: it keeps proxies from closing what is only quiet, and shows which clients are gone.
 *
 * A space before a line of JSON belongs to its document, where an empty line would be none; a line break after an Atom document is read over,
 * where anything else before the next one's `<?xml` would be an error.
 */
export const heartbeats: { readonly [framing in Framing]: Buffer } = {
  events: Buffer.from(":\n\n"),
  lines: Buffer.from(" "),
  atom: Buffer.from("\n")
}

/**
 * A document in its frame; `id` is given to server-sent events only.
 *
 * Every line of it gets its field name: a line break in a stranger's text (CR counts as one) cannot begin a field of its own.
 */
export const frame = (framing: Framing, body: Uint8Array | string, event: string, id: string | undefined): Buffer =>
  framing === "events"
    ? Buffer.from(`event: ${event}\n${idField(id)}${dataFields(body)}\n`)
    : Buffer.concat([Buffer.from(body), newline])

/** The `id` alone, for listeners who hear the same and have other cursors. NUL would make a client ignore it, a line break end it. */
export const idField = (id: string | undefined): string =>
  id === undefined ? "" : `id: ${id.replaceAll(/[\r\n\0]/g, "")}\n`

const dataFields = (body: Uint8Array | string): string =>
  `data: ${(typeof body === "string" ? body : decoder.decode(body)).replaceAll(/\r\n?|\n/g, "\ndata: ")}\n`

const newline = Buffer.from("\n")

const decoder = new TextDecoder()

/** The notification as a document of this format; undefined where it can be none: a stream carries feeds, and JSON as JSON. */
export const documentOf = (
  notification: Notification,
  topic: string,
  format: Asked,
  sender: SenderIdentity
): Uint8Array | string | undefined =>
  notification.news._tag === "Document"
    ? format === "json" ? compactJson(notification.news.document.body) : undefined
    : render(notification, { face: "api", topic, format }, sender).body

/** JSON on one line; undefined when it is none. */
export const compactJson = (bytes: Uint8Array): string | undefined => {
  try {
    return JSON.stringify(JSON.parse(decoder.decode(bytes)))
  } catch {
    return undefined // not JSON
  }
}
