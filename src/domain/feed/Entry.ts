import type { EventJson } from "#domain/Event.ts"

/**
 * One entry of a feed, in the model of all dialects.
 *
 * Values are plain JSON (no classes, no `Date`), so that Windhover can store, send and compare entries directly. Times are epoch
 * milliseconds. A value that the publisher omits is absent.
 */
export interface Entry {
  /** The publisher's id, entity-decoded and otherwise unchanged, or a generated id (see `generatedId`). */
  readonly id: string
  /** True when the publisher gave no usable id, so that `EntryId` generated one. */
  readonly generatedId?: true
  /** RSS only: `isPermaLink` of the guid. */
  readonly idIsPermalink?: boolean
  readonly title?: Text
  readonly summary?: Text
  /** Atom allows one content; RSS with `xhtml:body` and `content:encoded` may have several. Subscribers receive the first. */
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
  /** A BCP 47 tag: the language of the entry, or else of the feed. */
  readonly language?: string
  readonly rights?: Text
  /** URL of the comments page, URL of their feed, and their number. */
  readonly comments?: string
  readonly commentsFeed?: string
  readonly commentCount?: number
  /** Resources that the entry answers (Atom Threading). */
  readonly inReplyTo?: ReadonlyArray<Reply>
  /** The link before an aggregator such as FeedBurner replaced it. */
  readonly originalLink?: string
  readonly source?: Source
  readonly points?: ReadonlyArray<Point>
  /** A line, polygon or box in GeoJSON's order (longitude, latitude). */
  readonly shape?: Shape
  readonly media?: Media
  readonly image?: Image
  readonly license?: string
  readonly itunes?: ItunesItem
  /** Simple values of other elements, by namespace key and local name. */
  readonly extensions?: Extensions
  /** ActivityStreams: URIs of verbs, and objects. */
  readonly verbs?: ReadonlyArray<string>
  readonly objects?: ReadonlyArray<ActivityObject>
  /** Only of entries of Windhover's own topic of events. */
  readonly event?: EventJson
}

/** A text with its type: `text`, `html`, `xhtml`, or a MIME type of other inline content. */
export interface Text {
  readonly value: string
  readonly type: string
  readonly language?: string
  /** The base URL of the resolved references in the value. */
  readonly base?: string
  /** URL of Atom out-of-line content. */
  readonly src?: string
  /** Only the beginning of the text, because the message to the subscriber has a limit. */
  readonly truncated?: true
}

export interface Link {
  /** Absolute, if possible. Empty when the publisher forgot the URL; only `inspect` shows such a link. */
  readonly href: string
  /** Short form of an IANA relation. `alternate` without a relation, `enclosure` for enclosures. */
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

/** A resource that an entry answers: its id, its page, and its feed or entry document. */
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
