import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader, FeedVersion } from "#domain/feed/Feed.ts"
import { type Context, type Reader, within } from "./ElementContext.ts"
import { Draft } from "./Draft.ts"
import { entryOf } from "./BuildModel.ts"
import { exact, trimmed } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"
import { isBase, resolve } from "./Urls.ts"
import { isCore } from "./Vocabularies.ts"

/** What a dialect is told besides the document. */
export interface Outside {
  readonly url: string | undefined
  /** The language that the server names. */
  readonly language: string | undefined
  /** Entries read at most. */
  readonly most: number
}

/** A document as its dialect reads it. */
export interface Reading {
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
export const contextOf = (feed: Element, read: Reader, url: string | undefined): Context => {
  const own = linkIn(feed, "self") ?? url
  const site = linkIn(feed, "alternate")
  const base = own === undefined || site !== undefined && hostOf(site) !== hostOf(own) ? site : own
  return { base: base ?? "", declared: false, language: undefined, read }
}

const hostOf = (url: string): string | undefined => URL.parse(url)?.hostname.replace(/^www\./, "")

/** A link usable as base. A self link to a name without a dot is what a publisher's test machine left behind. */
const linkIn = (feed: Element, rel: string): string | undefined => {
  for (const child of feed.children) {
    if (typeof child === "string" || child.key !== "link" || (exact(child, "rel") ?? "alternate") !== rel) continue
    const href = exact(child, "href") ?? trimmed(child)
    if (isBase(href) && URL.parse(href)?.hostname.includes(".") === true) return resolve("", href)
  }
  return undefined
}

/** Reads entries, each in the context that it inherits; `language` is the feed's. */
export const readEntries = (
  found: ReadonlyArray<readonly [element: Element, context: Context]>,
  language: string | undefined,
  complete: (element: Element, draft: Draft) => void = () => undefined
): ReadonlyArray<RawEntry> =>
  found.map(([element, around]) => {
    const context = within(element, around)
    const draft = new Draft("entry")
    for (const child of element.children) if (typeof child !== "string") context.read(child, draft, context)
    draft.language ??= nonEmpty(context.language ?? draft.content?.[0]?.language) ?? language
    complete(element, draft)
    return entryOf(draft)
  })

export const nonEmpty = (text: string | undefined): string | undefined => text === "" ? undefined : text
