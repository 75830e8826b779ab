import type { Entry, Text } from "#domain/feed/Entry.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { renderEntryXml } from "#domain/render/AtomXml.ts"
import { documentToText } from "#domain/render/DocumentEntry.ts"
import { renderEntryJson } from "#domain/render/NotificationJson.ts"
import { escapeText, renderAttribute, renderElement } from "#domain/render/Xml.ts"
import type { Format } from "#domain/Subscription.ts"
import { ns } from "./Namespaces.ts"

/** How items are written for one subscriber. */
export interface Style {
  readonly format: Format | undefined
  readonly extNamespace: string
  /** The namespace that an item says itself; without it the one around it counts. */
  readonly itemNamespace?: string
}

/** Bytes of UTF-8. */
export const countBytes = (xml: string): number => Buffer.byteLength(xml)

/** One entry as an item of at most `limit` bytes: what is too long in it is cut and marked, and at last all is left out that can be. */
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

/** A share of the limit for each of content, summary and title; what is around them has the rest. */
const shares = 5

/** A resource that is no feed, as an item of at most `limit` bytes. */
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

/** What leads to the entry itself: its id, its title, its times and its page. */
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

/** The longest beginning that takes at most `room` bytes as character data (or, in JSON, escaped as well). */
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
  // half of a surrogate pair is no character
  return /[\ud800-\udbff]/.test(value.charAt(least - 1)) ? value.slice(0, least - 1) : value.slice(0, least)
}
