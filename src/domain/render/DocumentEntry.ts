import type { Entry } from "#domain/feed/Entry.ts"
import { ofBytes, ofString } from "#domain/Fingerprint.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { Format } from "#domain/Subscription.ts"

/** Whether the document is in this format already: JSON that is wanted as JSON stays what it is. */
export const isInFormat = (document: Document, format: Format): boolean => format === "json" && isJsonDocument(document)

const isJsonDocument = ({ body, contentType }: Document): boolean => {
  if (/^\s*[\w.-]+\/(?:[\w.-]+\+)?json\b/i.test(contentType)) return true
  const text = utf8Decoder.decode(body)
  if (!/^\s*[[{]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false // begins like it, and is none
  }
}

/**
 * A document that is no feed as the one entry of a feed, for those who asked for a format.
 *
 * Its `content` has the document's own type; what is no text is in base64, as in Atom (RFC 4287, 4.1.3.3). The id changes with the document,
 * so that a receiver who drops what it has seen takes the next one. `updated` is when it was read.
 */
export const documentToEntry = (
  document: Document,
  { feed, lastParse }: Pick<Status, "feed" | "lastParse">
): Entry => ({
  id: `urn:windhover:${toHex(ofString(feed))}:${toHex(ofBytes(document.body))}`,
  ...(lastParse === undefined ? {} : { updated: lastParse }),
  content: [{ type: document.contentType, value: documentToText(document) }],
  links: [{ rel: "alternate", type: document.contentType, href: feed }]
})

const toHex = (fingerprint: bigint): string => fingerprint.toString(16).padStart(16, "0")

/** The document as characters: its text, or its bytes in base64. */
export const documentToText = ({ body, contentType }: Document): string =>
  isTextType(contentType) ? decodeBody(contentType, body) : Buffer.from(body).toString("base64")

/** Types whose bytes are text. */
const isTextType = (contentType: string): boolean =>
  /^(text\/|application\/([\w.-]+\+)?(json|xml)\b|application\/(x-)?(java|ecma)script\b|application\/(yaml|toml)\b)/i
    .test(contentType) || contentType === ""

const decodeBody = (contentType: string, body: Uint8Array): string => {
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1] ?? "utf-8"
  try {
    return new TextDecoder(charset).decode(body)
  } catch {
    return utf8Decoder.decode(body)
  }
}

const utf8Decoder = new TextDecoder()
