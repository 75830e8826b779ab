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
 * What a feed says of itself: everything but its entries.
 *
 * Plain JSON like `Entry`; it is stored with the resource and sent as the header of each notification.
 */
export interface FeedHeader {
  /** The publisher's id of the feed (atom:id, rdf:about, JSON Feed `feed_url`), when there is one. */
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

/** What the publisher says about how often to come, as read; `Polling` decides what is made of it. */
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

/** `rss20`, `atom10`, `rss10`, `json11` …: which dialect and version a document was read as. */
export type FeedVersion = string

/** A whole feed document, read. Entries are in document order. */
export interface Feed {
  readonly version: FeedVersion
  /** WHATWG name of the encoding that the document was decoded from. */
  readonly encoding: string
  readonly header: FeedHeader
  readonly entries: ReadonlyArray<Entry>
  /** What had to be repaired, in words for a person (`inspect` shows them); empty for a clean document. */
  readonly repairs: ReadonlyArray<string>
}

/** Links of a relation that have an address, in document order. */
export const getLinks = (links: ReadonlyArray<Link> | undefined, rel: string): ReadonlyArray<Link> =>
  links === undefined ? [] : links.filter((link) => link.rel === rel && link.href !== "")

/** The page that a person would open: of several alternates the first that is HTML, or may be. */
export const getPermalink = (of: { readonly links?: ReadonlyArray<Link> }): string | undefined => {
  const alternates = getLinks(of.links, "alternate")
  return (alternates.find(({ type }) => type === undefined || type.includes("html")) ?? alternates[0])?.href
}

/** Self URL, as announced in the document. */
export const getSelfLink = (header: { readonly links?: ReadonlyArray<Link> }): string | undefined =>
  getLinks(header.links, "self")[0]?.href

/** URLs of the hubs that the document advertises. */
export const getHubs = (header: FeedHeader): ReadonlyArray<string> =>
  getLinks(header.links, "hub").map((link) => link.href)

export type { Entry }
