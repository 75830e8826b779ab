import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader, FeedVersion } from "#domain/feed/Feed.ts"
import { type ElementContext, type ElementReader, enterElement } from "./ElementContext.ts"
import { Draft } from "./Draft.ts"
import { buildEntry } from "./BuildModel.ts"
import { getExactAttribute, getTrimmedText } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"
import { isBase, resolve } from "./Urls.ts"
import { isCore } from "./Vocabularies.ts"

/** What a dialect is told besides the document. */
export interface DialectOptions {
  readonly url: string | undefined
  /** The language that the server names. */
  readonly language: string | undefined
  /** Entries read at most. */
  readonly most: number
}

/** A document as its dialect reads it. */
export interface ParsedFeed {
  readonly version: FeedVersion
  readonly header: FeedHeader
  readonly entries: ReadonlyArray<RawEntry>
}

export const isEntry = (element: Element): boolean =>
  (element.key === "item" || element.key === "entry") && isCore(element)

/**
 * The context of a feed.
 *
 * Without xml:base, relative references are resolved against the feed's address: its own word on where it lives (`self`), else the URL
 * that it was fetched from. But a feed that lives on another host than its site (FeedBurner, a store of files) was written for the site.
 */
export const makeFeedContext = (feed: Element, read: ElementReader, url: string | undefined): ElementContext => {
  const own = findBaseLink(feed, "self") ?? url
  const site = findBaseLink(feed, "alternate")
  const base = own === undefined || site !== undefined && getHost(site) !== getHost(own) ? site : own
  return { base: base ?? "", declared: false, language: undefined, read }
}

const getHost = (url: string): string | undefined => URL.parse(url)?.hostname.replace(/^www\./, "")

/** A link usable as base. A self link to a name without a dot is what a publisher's test machine left behind. */
const findBaseLink = (feed: Element, rel: string): string | undefined => {
  for (const child of feed.children) {
    if (typeof child === "string" || child.key !== "link" || (getExactAttribute(child, "rel") ?? "alternate") !== rel) {
      continue
    }
    const href = getExactAttribute(child, "href") ?? getTrimmedText(child)
    if (isBase(href) && URL.parse(href)?.hostname.includes(".") === true) return resolve("", href)
  }
  return undefined
}

/** Reads entries, each in the context that it inherits; `language` is the feed's. */
export const readEntries = (
  found: ReadonlyArray<readonly [element: Element, context: ElementContext]>,
  language: string | undefined,
  complete: (element: Element, draft: Draft) => void = () => undefined
): ReadonlyArray<RawEntry> =>
  found.map(([element, around]) => {
    const context = enterElement(element, around)
    const draft = new Draft("entry")
    for (const child of element.children) if (typeof child !== "string") context.read(child, draft, context)
    draft.language ??= dropEmpty(context.language ?? draft.content?.[0]?.language) ?? language
    complete(element, draft)
    return buildEntry(draft)
  })

export const dropEmpty = (text: string | undefined): string | undefined => text === "" ? undefined : text
