import { buildHeader } from "./BuildModel.ts"
import {
  type DialectOptions,
  dropEmpty,
  isEntry,
  limitEntries,
  makeFeedContext,
  type ParsedFeed,
  readEntries,
  resolveFeedId
} from "./Dialect.ts"
import { Draft } from "./Draft.ts"
import { type ElementContext, enterElement } from "./ElementContext.ts"
import { isBase } from "./Urls.ts"
import { readRssElement } from "./Vocabularies.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import {
  type Element,
  findChild,
  getChildElements,
  getExactAttribute,
  getValue
} from "#domain/normalize/xml/Element.ts"

const rssVersions: { readonly [version: string]: string | undefined } = {
  "0.91": "rss091u",
  "0.92": "rss092",
  "0.93": "rss093",
  "0.94": "rss094"
}

/** Reads RSS 0.91 to 2.0, with items inside the channel, beside the channel or in a separate list. */
export const readRss = (root: Element, options: DialectOptions): ParsedFeed => {
  const version = getValue(root, "version") ?? ""
  return { version: rssVersions[version] ?? (version.startsWith("2") ? "rss20" : "rss"), ...readChannel(root, options) }
}

/** Reads the header and items of a document with a channel. */
const readChannel = (
  root: Element,
  { url, language, maxEntries }: DialectOptions
): Omit<ParsedFeed, "version"> => {
  const channel = findChild(root, "channel") ?? root
  const outer = enterElement(root, makeFeedContext(channel, readRssElement, url))
  const context = channel === root ? outer : enterElement(channel, outer)
  const draft = new Draft("feed")
  const items: Array<readonly [Element, ElementContext]> = []
  readParts(channel, draft, context, items)
  if (channel !== root) readParts(root, draft, outer, items, channel)
  draft.id = resolveFeedId(draft.id ?? draft.fallbacks.id ?? getAbout(channel), context, url)
  readCdfAttributes(channel, draft)
  draft.language ??= dropEmpty(context.language) ?? language
  return { header: buildHeader(draft), ...limitEntries(readEntries(items, draft.language, completeItem), maxEntries) }
}

const readParts = (
  parent: Element,
  draft: Draft,
  context: ElementContext,
  items: Array<readonly [Element, ElementContext]>,
  skipped?: Element
): void => {
  for (const child of parent.children) {
    if (typeof child === "string" || child === skipped) continue
    if (isEntry(child)) items.push([child, context])
    else if (child.key === "items" && child.namespace !== "content") collectItems(child, context, items)
    else if (child.key === "channel") readParts(child, draft, enterElement(child, context), items)
    else readRssElement(child, draft, context)
  }
}

const collectItems = (
  list: Element,
  context: ElementContext,
  items: Array<readonly [Element, ElementContext]>
): void => {
  for (const child of getChildElements(list)) if (isEntry(child)) items.push([child, context])
}

/** Completes an item: RSS 1.0's id is `rdf:about`, and a permalink guid can replace the link. */
const completeItem = (element: Element, draft: Draft): void => {
  if (draft.idIsPermalink === true && draft.id !== undefined && isBase(draft.id)) {
    ;(draft.fallbacks.links ??= []).push({ href: draft.id, rel: "alternate" })
  }
  draft.id ??= getAbout(element)
  readCdfAttributes(element, draft)
}

const getAbout = (element: Element): string | undefined => dropEmpty(getExactAttribute(element, "rdf:about")?.trim())

/** Reads the attributes of CDF, the forerunner of RSS: `<ITEM HREF="…" LASTMOD="…">`. */
const readCdfAttributes = (element: Element, draft: Draft): void => {
  const href = draft.links === undefined ? getValue(element, "href") : undefined
  const modified = draft.updated === undefined ? getValue(element, "lastmod") : undefined
  if (href !== undefined) (draft.fallbacks.links ??= []).push({ href, rel: "alternate" })
  if (modified !== undefined) draft.updated = parseDate(modified)
}

/** Reads RSS 0.90 and 1.0, where items stand beside the channel, and RSS 1.1. */
export const readRdf = (root: Element, options: DialectOptions): ParsedFeed => ({
  version: detectVersion(root),
  ...readChannel(root, options)
})

const detectVersion = (root: Element): string => {
  const declared = [root, ...getChildElements(root).slice(0, 20)].flatMap(({ attributes }) => attributes).join(" ")
  return declared.includes("netscape.com/rdf/simple/0.9")
    ? "rss090"
    : declared.includes("purl.org/net/rss1.1")
    ? "rss11"
    : "rss10"
}
