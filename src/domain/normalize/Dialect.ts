import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader, FeedVersion } from "#domain/feed/Feed.ts"
import { type ElementContext, type ElementReader, enterElement } from "./ElementContext.ts"
import { Draft } from "./Draft.ts"
import { buildEntry } from "./BuildModel.ts"
import { type Element, getExactAttribute, getTrimmedText } from "#domain/normalize/xml/Element.ts"
import { isBase, resolve } from "./Urls.ts"
import { chooseNewest, type LeftOut } from "./NewestEntries.ts"
import { isCore } from "./Vocabularies.ts"

/** Inputs of a dialect besides the document. */
export interface DialectOptions {
  readonly url: string | undefined
  /** Language from the server's `Content-Language`. */
  readonly language: string | undefined
  readonly maxEntries: number
}

/** A feed document in the model, with the ids of the publisher. */
export interface ParsedFeed {
  readonly version: FeedVersion
  readonly header: FeedHeader
  readonly entries: ReadonlyArray<RawEntry>
  /** Present when the document has more entries than the limit. */
  readonly leftOut?: LeftOut
}

/** The entries of a document, or its newest entries if these are too many. */
export const limitEntries = (
  entries: ReadonlyArray<RawEntry>,
  maxEntries: number
): Pick<ParsedFeed, "entries" | "leftOut"> => {
  const newest = chooseNewest(entries.map(({ published, updated }) => published ?? updated), maxEntries)
  return newest === undefined
    ? { entries }
    : { entries: entries.filter((_, index) => newest.isKept[index]), leftOut: newest.leftOut }
}

export const isEntry = (element: Element): boolean =>
  (element.key === "item" || element.key === "entry") && isCore(element)

/**
 * Makes the context of a feed.
 *
 * Without `xml:base`, the base is the feed's `self` link, or else its URL. When the feed and its site have different hosts (FeedBurner, a
 * file store), the base is the site.
 */
export const makeFeedContext = (feed: Element, read: ElementReader, url: string | undefined): ElementContext => {
  const own = findBaseLink(feed, "self") ?? url
  const site = findBaseLink(feed, "alternate")
  const base = own === undefined || site !== undefined && getHost(site) !== getHost(own) ? site : own
  return { base: base ?? "", declared: false, language: undefined, read }
}

/**
 * Resolves the id of a feed, if the document's URL is known.
 *
 * Ids of entries stay as written, because another URL of the feed must not change them.
 */
export const resolveFeedId = (
  id: string | undefined,
  { base }: ElementContext,
  url: string | undefined
): string | undefined => id === undefined || url === undefined || !relativePath.test(id) ? id : resolve(base, id)

const relativePath = /^[^\s:]*\/\S*$/

const getHost = (url: string): string | undefined => URL.parse(url)?.hostname.replace(/^www\./, "")

/** A link that can be a base. A host without a dot does not count, because it is a leftover of the publisher's test machine. */
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

/** Reads entries, each in its inherited context. `language` is the language of the feed. */
export const readEntries = (
  found: ReadonlyArray<readonly [element: Element, context: ElementContext]>,
  language: string | undefined,
  complete: (element: Element, draft: Draft) => void = () => undefined
): ReadonlyArray<RawEntry> =>
  found.map(([element, outer]) => {
    const context = enterElement(element, outer)
    const draft = new Draft("entry")
    for (const child of element.children) if (typeof child !== "string") context.read(child, draft, context)
    draft.language ??= dropEmpty(context.language ?? draft.content?.[0]?.language) ?? language
    complete(element, draft)
    return buildEntry(draft)
  })

export const dropEmpty = (text: string | undefined): string | undefined => text === "" ? undefined : text
