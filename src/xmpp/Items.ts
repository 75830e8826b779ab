import type { Entry, Text } from "#domain/feed/Entry.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { renderEntryXml } from "#domain/render/AtomXml.ts"
import { documentToText } from "#domain/render/DocumentEntry.ts"
import { renderEntryJson } from "#domain/render/NotificationJson.ts"
import { escapeText, renderAttribute, renderElement } from "#domain/render/Xml.ts"
import type { Format } from "#domain/Subscription.ts"
import { ns } from "./Namespaces.ts"

/** Style of the items for one subscriber. */
export interface Style {
  readonly format: Format | undefined
  readonly extNamespace: string
  /** Namespace that each item declares; without this property, items inherit the surrounding namespace. */
  readonly itemNamespace?: string
}

/** Bytes of a text in UTF-8. */
export const countBytes = (xml: string): number => Buffer.byteLength(xml)

/** Renders an entry as an item of at most `maxBytes` bytes. Long texts are cut and marked; in the last resort only the id remains. */
export const renderEntryItem = (entry: Entry, style: Style, maxBytes: number): string => {
  const render = style.format === "json" ? renderJsonItem : renderAtomItem
  const whole = render(entry, style)
  if (countBytes(whole) <= maxBytes) return whole
  for (const reduce of [shortenTexts, reduceToLink]) {
    const shorter = render(reduce(entry, Math.floor(maxBytes / shares)), style)
    if (countBytes(shorter) <= maxBytes) return shorter
  }
  return render({ id: shorten(entry.id, Math.floor(maxBytes / shares)) }, style)
}

/** Content, summary and title get one of five shares of the bytes each. The markup gets the rest. */
const shares = 5

/** Renders a document that is not a feed as an item of at most `maxBytes` bytes. */
export const renderDocumentItem = (document: Document, style: Style, maxBytes: number): string => {
  const { contentType } = document
  const value = documentToText(document)
  const maxTextBytes = Math.max(
    0,
    maxBytes - countBytes(renderContentItem("", { type: contentType, truncated: true }, style))
  )
  const kept = countBytes(escapeText(value)) <= maxTextBytes ? value : shorten(value, maxTextBytes)
  return renderContentItem(kept, { type: contentType, truncated: kept.length < value.length }, style)
}

const renderAtomItem = (entry: Entry, style: Style): string =>
  renderItem(renderEntryXml(entry, style.extNamespace), style)

const renderJsonItem = (entry: Entry, style: Style): string =>
  renderContentItem(renderEntryJson(entry), { truncated: entry.content?.[0]?.truncated ?? false }, style)

const renderContentItem = (
  value: string,
  { truncated, type }: { readonly type?: string; readonly truncated: boolean },
  style: Style
): string => {
  const attributes = renderAttribute("xmlns", ns.atom) + renderAttribute("type", type) +
    (truncated ? renderAttribute("truncated", "true") : "")
  return renderItem(renderElement("content", value, attributes), style)
}

const renderItem = (content: string, { itemNamespace }: Style): string =>
  `<item${renderAttribute("xmlns", itemNamespace)}>${content}</item>`

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
