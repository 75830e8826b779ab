import { createHash } from "node:crypto"
import type { Entry, Text } from "#domain/feed/Entry.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { renderEntryXml } from "#domain/render/AtomXml.ts"
import { documentIdOf, documentToText } from "#domain/render/DocumentEntry.ts"
import { renderEntryJson } from "#domain/render/NotificationJson.ts"
import { escapeText, renderAttribute, renderElement } from "#domain/render/Xml.ts"
import type { Format } from "#domain/Subscription.ts"
import { ns } from "./Namespaces.ts"

/** Style of the items for one subscriber. */
export interface Style {
  readonly format: Format | undefined
  readonly extNamespace: string
  /**
   * Items as the clients of the original service expect: in the namespace of `pubsub` and without an id, several in one message.
   * Otherwise items inherit the surrounding namespace and have an id (XEP-0060).
   */
  readonly isLegacy?: boolean
}

/** Bytes of a text in UTF-8. */
export const countBytes = (xml: string): number => Buffer.byteLength(xml)

/** Maximum of bytes in the id of an item. An XMPP address names an item in its resource part, which holds no more (RFC 7622, 3.1). */
const maxItemIdBytes = 1023

/** Characters of an id that every server passes on unchanged. XML knows no other characters, or parsers read them as spaces. */
const legalItemId = /^[\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]+$/u

/** The id of an entry's item: the id of the entry or, if an attribute cannot hold that id, its SHA-256. */
export const toItemId = (entryId: string): string =>
  Buffer.byteLength(entryId) <= maxItemIdBytes && legalItemId.test(entryId)
    ? entryId
    : `${hashPrefix}${createHash("sha256").update(entryId, "utf16le").digest("hex")}`

const hashPrefix = "sha256:"

/** True for an id that `toItemId` may have made of another one. */
export const isHashedItemId = (itemId: string): boolean => itemId.startsWith(hashPrefix)

/** Renders an entry as an item of at most `maxBytes` bytes. Long texts are cut and marked; in the last resort only the id remains. */
export const renderEntryItem = (entry: Entry, style: Style, maxBytes: number): string => {
  const renderContent = style.format === "json" ? renderJsonEntry : renderEntryXml
  const id = toItemId(entry.id)
  const render = (shown: Entry) => renderItem(id, renderContent(shown, style.extNamespace), style)
  const whole = render(entry)
  if (countBytes(whole) <= maxBytes) return whole
  for (const reduce of [shortenTexts, reduceToLink]) {
    const shorter = render(reduce(entry, Math.floor(maxBytes / shares)))
    if (countBytes(shorter) <= maxBytes) return shorter
  }
  return render({ id: shorten(entry.id, Math.floor(maxBytes / shares)) })
}

/** Content, summary and title get one of five shares of the bytes each. The markup gets the rest. */
const shares = 5

/** Renders a document that is not a feed as an item of at most `maxBytes` bytes. */
export const renderDocumentItem = (document: Document, topic: string, style: Style, maxBytes: number): string => {
  const { contentType } = document
  const id = documentIdOf(document, topic)
  const value = documentToText(document)
  const render = (text: string, truncated: boolean) =>
    renderItem(id, renderContent(text, { type: contentType, truncated }), style)
  const maxTextBytes = Math.max(0, maxBytes - countBytes(render("", true)))
  const kept = countBytes(escapeText(value)) <= maxTextBytes ? value : shorten(value, maxTextBytes)
  return render(kept, kept.length < value.length)
}

const renderJsonEntry = (entry: Entry): string =>
  renderContent(renderEntryJson(entry), { truncated: entry.content?.[0]?.truncated ?? false })

const renderContent = (
  value: string,
  { truncated, type }: { readonly type?: string; readonly truncated: boolean }
): string => {
  const attributes = renderAttribute("xmlns", ns.atom) + renderAttribute("type", type) +
    (truncated ? renderAttribute("truncated", "true") : "")
  return renderElement("content", value, attributes)
}

const renderItem = (id: string, content: string, { isLegacy = false }: Style): string =>
  `<item${isLegacy ? renderAttribute("xmlns", ns.pubsub) : renderAttribute("id", id)}>${content}</item>`

const shortenTexts = (entry: Entry, maxBytes: number): Entry => {
  const [content] = entry.content ?? []
  return {
    ...entry,
    ...(entry.title === undefined ? {} : { title: shortenText(entry.title, maxBytes) }),
    ...(entry.summary === undefined ? {} : { summary: shortenText(entry.summary, maxBytes) }),
    ...(content === undefined ? {} : { content: [shortenText(content, maxBytes)] })
  }
}

/** Keeps only the properties that lead to the entry: its id, title, times and page. Longer links are dropped. */
const reduceToLink = (entry: Entry, maxBytes: number): Entry => {
  const link = entry.links?.find(({ href, rel }) => rel === "alternate" && href.length <= maxHrefLength)
  return {
    id: entry.id,
    ...(entry.published === undefined ? {} : { published: entry.published }),
    ...(entry.updated === undefined ? {} : { updated: entry.updated }),
    ...(entry.title === undefined ? {} : { title: shortenText(entry.title, maxBytes) }),
    ...(link === undefined ? {} : { links: [{ href: link.href, rel: link.rel }] }),
    content: [{ value: "", type: "text", truncated: true }]
  }
}

const maxHrefLength = 4096

const shortenText = (text: Text, maxBytes: number): Text => {
  const value = shorten(text.value, maxBytes)
  return value.length === text.value.length ? text : { ...text, value, truncated: true }
}

/** The longest beginning of a text with at most `maxBytes` bytes as escaped character data, and also as escaped JSON. */
const shorten = (value: string, maxBytes: number): string => {
  const fits = (length: number) => countBytes(escapeText(JSON.stringify(value.slice(0, length)))) <= maxBytes
  if (value.length <= maxBytes && fits(value.length)) return value
  let minLength = 0
  let maxLength = Math.min(value.length, maxBytes)
  while (minLength < maxLength) {
    const middle = Math.ceil((minLength + maxLength) / 2)
    if (fits(middle)) minLength = middle
    else maxLength = middle - 1
  }
  // half of a surrogate pair is not a character
  return /[\ud800-\udbff]/.test(value.charAt(minLength - 1)) ? value.slice(0, minLength - 1) : value.slice(0, minLength)
}
