import type { Entry } from "#domain/feed/Entry.ts"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"
import { hashBytes, hashString, toHex } from "#domain/Fingerprint.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { Format } from "#domain/Subscription.ts"

/** Whether a document already has the format. A JSON document needs no conversion to JSON. */
export const isInFormat = (document: Document, format: Format): boolean => format === "json" && isJsonDocument(document)

const isJsonDocument = ({ body, contentType }: Document): boolean => {
  if (/^\s*[\w.-]+\/(?:[\w.-]+\+)?json\b/i.test(contentType)) return true
  const text = utf8Decoder.decode(body)
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false // starts like JSON, but is invalid
  }
}

/**
 * Wraps a document that is no feed in an entry, for subscriptions with a format.
 *
 * `content` has the document's own type; binary documents are in base64, as in Atom (RFC 4287, 4.1.3.3). `updated` is the time of reading.
 */
export const documentToEntry = (
  document: Document,
  { feed, lastParse }: Pick<Status, "feed" | "lastParse">
): Entry => ({
  id: documentIdOf(document, feed),
  ...(lastParse === undefined ? {} : { updated: lastParse }),
  content: [{ type: document.contentType, value: documentToText(document) }],
  links: [{ rel: "alternate", type: document.contentType, href: feed }]
})

/** The id of a document under its topic. The id changes with the document, so that a receiver that drops known ids takes the next version. */
export const documentIdOf = ({ body }: Document, topic: string): string =>
  `urn:windhover:${toHex(hashString(topic))}:${toHex(hashBytes(body))}`

/** The document as a string: its text, or its bytes in base64. */
export const documentToText = ({ body, contentType }: Document): string =>
  isTextType(contentType) ? decodeDocument(body, contentType) : Buffer.from(body).toString("base64")

/** Whether the bytes of a type are text. */
const isTextType = (contentType: string): boolean =>
  /^(text\/|application\/([\w.-]+\+)?(json|xml)\b|application\/(x-)?(java|ecma)script\b|application\/(yaml|toml)\b)/i
    .test(contentType) || contentType === ""

const utf8Decoder = new TextDecoder()
