import type {
  Category,
  Entry,
  Extensions,
  Generator,
  Image,
  ItunesItem,
  Link,
  Media,
  Person,
  Point,
  Shape,
  Text
} from "./Entry.ts"

/**
 * A feed without its entries.
 *
 * Plain JSON like `Entry`. Stored with the resource, and sent as the header of each notification.
 */
export interface FeedHeader {
  /** The publisher's id of the feed: `atom:id`, `rdf:about` or JSON Feed's `feed_url`. */
  readonly id?: string
  readonly title?: Text
  readonly subtitle?: Text
  readonly links?: ReadonlyArray<Link>
  readonly updated?: number
  readonly published?: number
  readonly created?: number
  readonly language?: string
  readonly rights?: Text
  readonly info?: Text
  readonly authors?: ReadonlyArray<Person>
  readonly contributors?: ReadonlyArray<Person>
  readonly publisher?: Person
  readonly categories?: ReadonlyArray<Category>
  readonly generator?: Generator
  readonly image?: Image
  readonly icon?: string
  readonly logo?: string
  readonly docs?: string
  readonly license?: string
  readonly cloud?: { readonly [attribute: string]: string }
  readonly textInput?: { readonly [name: string]: string }
  /** PICS or other rating of the channel. */
  readonly rating?: string
  readonly points?: ReadonlyArray<Point>
  readonly shape?: Shape
  readonly media?: Media
  readonly itunes?: ItunesItem & {
    readonly owner?: Person
    readonly categories?: ReadonlyArray<string>
    readonly type?: string
    readonly newFeedUrl?: string
    readonly complete?: boolean
  }
  readonly hints?: PollingHints
  readonly extensions?: Extensions
}

/** The publisher's wishes for the polling interval. `PollingInterval` decides. */
export interface PollingHints {
  /** RSS `ttl`, minutes. */
  readonly ttl?: number
  /** RSS 1.0 syndication module. */
  readonly updatePeriod?: string
  readonly updateFrequency?: number
  /** GMT hours 0..23. */
  readonly skipHours?: ReadonlyArray<number>
  /** English day names as in RSS 2.0. */
  readonly skipDays?: ReadonlyArray<string>
}

/** Dialect and version of a document: `rss20`, `atom10`, `rss10`, `json11` … */
export type FeedVersion = string

/** A whole feed document. Entries are in document order. */
export interface Feed {
  readonly version: FeedVersion
  /** WHATWG name of the document's encoding. */
  readonly encoding: string
  readonly header: FeedHeader
  readonly entries: ReadonlyArray<Entry>
  /** Repairs in words for a person; `inspect` shows these. Empty for a clean document. */
  readonly repairs: ReadonlyArray<string>
}

/** Links of a relation, in document order, without links that lack a URL. */
export const getLinks = (links: ReadonlyArray<Link> | undefined, rel: string): ReadonlyArray<Link> =>
  links === undefined ? [] : links.filter((link) => link.rel === rel && link.href !== "")

/** URL of the page for a person: the first alternate link that is HTML or has no type, else the first alternate link. */
export const getPermalink = (resource: { readonly links?: ReadonlyArray<Link> }): string | undefined => {
  const alternates = getLinks(resource.links, "alternate")
  return (alternates.find(({ type }) => type === undefined || type.includes("html")) ?? alternates[0])?.href
}

/** URL of the feed itself, as announced in the document. */
export const getSelfLink = (header: { readonly links?: ReadonlyArray<Link> }): string | undefined =>
  getLinks(header.links, "self")[0]?.href

/** URLs of the hubs in the document. */
export const getHubs = (header: FeedHeader): ReadonlyArray<string> =>
  getLinks(header.links, "hub").map((link) => link.href)
