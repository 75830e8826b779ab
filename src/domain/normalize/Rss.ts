import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { type Context, within } from "./ElementContext.ts"
import { contextOf, isEntry, nonEmpty, type Outside, readEntries, type Reading } from "./Dialect.ts"
import { Draft } from "./Draft.ts"
import { headerOf } from "./BuildModel.ts"
import { elements, exact, find, value } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"
import { isBase } from "./Urls.ts"
import { readRssElement } from "./Vocabularies.ts"

const VERSIONS: { readonly [version: string]: string | undefined } = {
  "0.91": "rss091u",
  "0.92": "rss092",
  "0.93": "rss093",
  "0.94": "rss094"
}

/** RSS 0.91 to 2.0. Items are taken wherever publishers put them: in the channel, beside it, or in a list of their own. */
export const readRss = (root: Element, outside: Outside): Reading => {
  const version = value(root, "version") ?? ""
  return { version: VERSIONS[version] ?? (version.startsWith("2") ? "rss20" : "rss"), ...readChannel(root, outside) }
}

/** Header and items of anything with a channel. */
export const readChannel = (root: Element, { url, language, most }: Outside): Omit<Reading, "version"> => {
  const channel = find(root, "channel") ?? root
  const around = within(root, contextOf(channel, readRssElement, url))
  const context = channel === root ? around : within(channel, around)
  const draft = new Draft("feed")
  const items: Array<readonly [Element, Context]> = []
  readParts(channel, draft, context, items)
  if (channel !== root) readParts(root, draft, around, items, channel)
  draft.id ??= aboutOf(channel)
  takeAttributes(channel, draft)
  draft.language ??= nonEmpty(context.language) ?? language
  return { header: headerOf(draft), entries: readEntries(items.slice(0, most), draft.language, completeItem) }
}

const readParts = (
  parent: Element,
  draft: Draft,
  context: Context,
  items: Array<readonly [Element, Context]>,
  passOver?: Element
): void => {
  for (const child of parent.children) {
    if (typeof child === "string" || child === passOver) continue
    if (isEntry(child)) items.push([child, context])
    else if (child.key === "items" && child.namespace !== "content") collect(child, context, items)
    else if (child.key === "channel") readParts(child, draft, within(child, context), items)
    else readRssElement(child, draft, context)
  }
}

const collect = (list: Element, context: Context, items: Array<readonly [Element, Context]>): void => {
  for (const child of elements(list)) if (isEntry(child)) items.push([child, context])
}

/** RSS 1.0's id is the item's `rdf:about`; a guid that is a permalink stands in for the link. */
const completeItem = (element: Element, draft: Draft): void => {
  if (draft.idIsPermalink === true && draft.id !== undefined && isBase(draft.id)) {
    ;(draft.other.links ??= []).push({ href: draft.id, rel: "alternate" })
  }
  draft.id ??= aboutOf(element)
  takeAttributes(element, draft)
}

const aboutOf = (element: Element): string | undefined => nonEmpty(exact(element, "rdf:about")?.trim())

/** CDF, RSS's forerunner, has attributes where RSS has elements: `<ITEM HREF="…" LASTMOD="…">`. */
const takeAttributes = (element: Element, draft: Draft): void => {
  const href = draft.links === undefined ? value(element, "href") : undefined
  const modified = draft.updated === undefined ? value(element, "lastmod") : undefined
  if (href !== undefined) (draft.other.links ??= []).push({ href, rel: "alternate" })
  if (modified !== undefined) draft.updated = parseDate(modified)
}
