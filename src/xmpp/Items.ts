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

/** Renders an entry as an item of at most `limit` bytes. Long texts are cut and marked; in the last resort only the id remains. */
export const renderEntryItem = (entry: Entry, style: Style, limit: number): string => {
  const write = style.format === "json" ? jsonItem : atomItem
  const whole = write(entry, style)
  if (countBytes(whole) <= limit) return whole
  for (const cut of [withoutLongTexts, justTheLink]) {
    const shorter = write(cut(entry, Math.floor(limit / shares)), style)
    if (countBytes(shorter) <= limit) return shorter
  }
  return write({ id: shortened(entry.id, Math.floor(limit / shares)) }, style)
}

/** Divisor of the limit for each of content, summary and title. The markup gets the rest. */
const shares = 5

/** Renders a document that is not a feed as an item of at most `limit` bytes. */
export const renderDocumentItem = (document: Document, style: Style, limit: number): string => {
  const { contentType } = document
  const value = documentToText(document)
  const room = Math.max(0, limit - countBytes(contentItem("", { type: contentType, truncated: true }, style)))
  const kept = countBytes(escapeText(value)) <= room ? value : shortened(value, room)
  return contentItem(kept, { type: contentType, truncated: kept.length < value.length }, style)
}

const atomItem = (entry: Entry, style: Style): string => item(renderEntryXml(entry, style.extNamespace), style)

const jsonItem = (entry: Entry, style: Style): string =>
  contentItem(renderEntryJson(entry), { truncated: entry.content?.[0]?.truncated ?? false }, style)

const contentItem = (
  value: string,
  { truncated, type }: { readonly type?: string; readonly truncated: boolean },
  style: Style
): string => {
  const attributes = renderAttribute("xmlns", ns.atom) + renderAttribute("type", type) +
    (truncated ? renderAttribute("truncated", "true") : "")
  return item(renderElement("content", value, attributes), style)
}

const item = (content: string, { itemNamespace }: Style): string =>
  `<item${renderAttribute("xmlns", itemNamespace)}>${content}</item>`

const withoutLongTexts = (entry: Entry, room: number): Entry => {
  const [content] = entry.content ?? []
  return {
    ...entry,
    ...(entry.title === undefined ? {} : { title: cut(entry.title, room) }),
    ...(entry.summary === undefined ? {} : { summary: cut(entry.summary, room) }),
    ...(content === undefined ? {} : { content: [cut(content, room)] })
  }
}

/** Keeps only the properties that lead to the entry: its id, title, times and page. */
const justTheLink = (entry: Entry, room: number): Entry => {
  const link = entry.links?.find(({ href, rel }) => rel === "alternate" && href.length <= maxHref)
  return {
    id: entry.id,
    ...(entry.published === undefined ? {} : { published: entry.published }),
    ...(entry.updated === undefined ? {} : { updated: entry.updated }),
    ...(entry.title === undefined ? {} : { title: cut(entry.title, room) }),
    ...(link === undefined ? {} : { links: [{ href: link.href, rel: link.rel }] }),
    content: [{ value: "", type: "text", truncated: true }]
  }
}

const maxHref = 4096

const cut = (of: Text, room: number): Text => {
  const value = shortened(of.value, room)
  return value.length === of.value.length ? of : { ...of, value, truncated: true }
}

/** The longest beginning of a text with at most `room` bytes as escaped character data, and also as escaped JSON. */
const shortened = (value: string, room: number): string => {
  const fits = (length: number) => countBytes(escapeText(JSON.stringify(value.slice(0, length)))) <= room
  if (value.length <= room && fits(value.length)) return value
  let least = 0
  let most = Math.min(value.length, room)
  while (least < most) {
    const middle = Math.ceil((least + most) / 2)
    if (fits(middle)) least = middle
    else most = middle - 1
  }
  // half of a surrogate pair is not a character
  return /[\ud800-\udbff]/.test(value.charAt(least - 1)) ? value.slice(0, least - 1) : value.slice(0, least)
}
