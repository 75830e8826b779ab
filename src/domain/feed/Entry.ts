/**
 * One entry of a feed, in the one model that every dialect is read into.
 *
 * Values are plain JSON (no classes, no `Date`), so that an entry can be stored, sent between runners and compared as it is.
 * Times are epoch milliseconds, UTC. What a publisher did not say is absent: nothing is invented.
 */
export interface Entry {
  /** The publisher's id, entity-decoded and otherwise byte for byte; or a generated one (see `generatedId`). */
  readonly id: string
  /** True when the publisher gave no usable id and `id` was made by `EntryId`. */
  readonly generatedId?: true
  /** RSS only: the guid says that it is (not) a permalink. */
  readonly idIsPermalink?: boolean
  readonly title?: Text
  readonly summary?: Text
  /** Atom allows one; RSS with `media`, `xhtml:body` and `content:encoded` may give several. The first is the one that is pushed. */
  readonly content?: ReadonlyArray<Text>
  readonly links?: ReadonlyArray<Link>
  readonly published?: number
  readonly updated?: number
  readonly created?: number
  readonly expired?: number
  readonly authors?: ReadonlyArray<Person>
  readonly contributors?: ReadonlyArray<Person>
  readonly publisher?: Person
  readonly categories?: ReadonlyArray<Category>
  /** A BCP 47 tag: the entry's own `xml:lang` (or dialect's equal), else the feed's. */
  readonly language?: string
  readonly rights?: Text
  /** URL of the comments page, URL of their feed, and their number. */
  readonly comments?: string
  readonly commentsFeed?: string
  readonly commentCount?: number
  /** What the entry answers (Atom Threading). */
  readonly inReplyTo?: ReadonlyArray<Reply>
  /** Where the entry stood before an aggregator such as FeedBurner rewrote its link. */
  readonly originalLink?: string
  readonly source?: Source
  readonly points?: ReadonlyArray<Point>
  /** GeoJSON of a line, polygon or box, in GeoJSON's order (longitude, latitude). */
  readonly shape?: Shape
  readonly media?: Media
  readonly image?: Image
  readonly license?: string
  readonly itunes?: ItunesItem
  /** Namespaces whose elements are simple values, by namespace key, then by local name. */
  readonly extensions?: Extensions
  /** ActivityStreams: verb URIs, objects, and the actor when it differs from the authors. */
  readonly verbs?: ReadonlyArray<string>
  readonly objects?: ReadonlyArray<ActivityObject>
}

/** A text construct: its value, and how to read it (`text`, `html`, `xhtml`, or a MIME type for other inline content). */
export interface Text {
  readonly value: string
  readonly type: string
  readonly language?: string
  /** The base URL that relative references in the value were resolved against. */
  readonly base?: string
  /** Atom out-of-line content. */
  readonly src?: string
  /** Only the beginning: the rest had no room on its way to a subscriber. */
  readonly truncated?: true
}

export interface Link {
  /** Absolute, as far as that is possible. Empty when the publisher forgot it: such a link is kept for `inspect`, and never sent or followed. */
  readonly href: string
  /** IANA relation, short form; `alternate` when the publisher gave none, `enclosure` for enclosures. */
  readonly rel: string
  readonly type?: string
  readonly title?: string
  readonly hreflang?: string
  /** Bytes, as announced by the publisher. */
  readonly length?: number
}

export interface Person {
  readonly name?: string
  readonly email?: string
  readonly uri?: string
  readonly id?: string
  readonly title?: string
  readonly objectTypes?: ReadonlyArray<string>
  readonly links?: ReadonlyArray<Link>
}

/** A resource that an entry answers: its id, a page of it, and the feed or entry document that it can be read from. */
export interface Reply {
  readonly ref?: string
  readonly href?: string
  readonly type?: string
  readonly source?: string
}

export interface Category {
  readonly term: string
  readonly scheme?: string
  readonly label?: string
}

/** Decimal degrees, WGS 84. */
export interface Point {
  readonly latitude: number
  readonly longitude: number
}

export interface Shape {
  readonly type: "LineString" | "Polygon" | "Box"
  readonly coordinates: ReadonlyArray<readonly [longitude: number, latitude: number]>
}

export interface Image {
  readonly url?: string
  readonly title?: string
  readonly link?: string
  readonly width?: number
  readonly height?: number
  readonly description?: string
}

export interface MediaContent {
  readonly url?: string
  readonly type?: string
  readonly medium?: string
  readonly width?: number
  readonly height?: number
  readonly duration?: string
  /** Bytes. */
  readonly fileSize?: number
  readonly language?: string
  readonly isDefault?: boolean
  readonly title?: string
}

export interface Media {
  readonly title?: string
  readonly description?: string
  readonly keywords?: string
  readonly rating?: string
  /** URL of a page that plays the media. */
  readonly player?: string
  readonly thumbnails?: ReadonlyArray<Image>
  readonly contents?: ReadonlyArray<MediaContent>
  readonly credits?: ReadonlyArray<{ readonly role?: string; readonly value: string }>
}

export interface ItunesItem {
  readonly author?: string
  readonly block?: boolean
  readonly closedCaptioned?: string
  readonly duration?: string
  readonly episode?: string
  readonly episodeType?: string
  readonly explicit?: boolean
  readonly image?: string
  readonly keywords?: ReadonlyArray<string>
  readonly order?: string
  readonly season?: string
  readonly subtitle?: string
  readonly summary?: string
  readonly title?: string
}

export interface ActivityObject {
  readonly objectTypes?: ReadonlyArray<string>
  readonly id?: string
  readonly title?: string
  readonly published?: number
  readonly updated?: number
  readonly content?: Text
  readonly summary?: Text
  readonly authors?: ReadonlyArray<Person>
  readonly categories?: ReadonlyArray<Category>
  readonly links?: ReadonlyArray<Link>
}

/** Feed-level data of the feed that an aggregated entry came from. */
export interface Source {
  readonly id?: string
  readonly language?: string
  readonly title?: Text
  readonly subtitle?: Text
  readonly updated?: number
  readonly rights?: Text
  readonly links?: ReadonlyArray<Link>
  readonly authors?: ReadonlyArray<Person>
  readonly contributors?: ReadonlyArray<Person>
  readonly categories?: ReadonlyArray<Category>
  readonly icon?: string
  readonly logo?: string
  readonly generator?: Generator
}

export interface Generator {
  readonly name?: string
  readonly uri?: string
  readonly version?: string
}

export type Extensions = { readonly [namespace: string]: { readonly [name: string]: string | ReadonlyArray<string> } }
