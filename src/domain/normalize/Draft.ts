import type * as Model from "#domain/feed/Entry.ts"
import type { FeedHeader, PollingHints } from "#domain/feed/Feed.ts"

/** A mutable `T` whose fields may still be absent. */
export type Writable<T> = {
  -readonly [K in keyof T]?: (T[K] extends ReadonlyArray<infer E> | undefined ? Array<E> : T[K]) | undefined
}

/** Kind of a draft. Some elements have another meaning in a feed than in an entry. */
export type DraftKind = "feed" | "entry" | "source" | "object"

/**
 * A feed, entry, source or activity object during the reading of its elements.
 *
 * All fields exist from the start, so that V8 sees one shape. Fallbacks have their own fields, because the order of elements must not
 * decide.
 */
export class Draft {
  readonly kind: DraftKind
  id: string | undefined = undefined
  idIsPermalink: boolean | undefined = undefined
  title: Model.Text | undefined = undefined
  subtitle: Model.Text | undefined = undefined
  summary: Model.Text | undefined = undefined
  content: Array<Model.Text> | undefined = undefined
  info: Model.Text | undefined = undefined
  rights: Model.Text | undefined = undefined
  links: Array<Model.Link> | undefined = undefined
  published: number | undefined = undefined
  updated: number | undefined = undefined
  created: number | undefined = undefined
  expired: number | undefined = undefined
  authors: Array<Model.Person> | undefined = undefined
  contributors: Array<Model.Person> | undefined = undefined
  publisher: Model.Person | undefined = undefined
  categories: Array<Model.Category> | undefined = undefined
  language: string | undefined = undefined
  comments: string | undefined = undefined
  commentsFeed: string | undefined = undefined
  commentCount: number | undefined = undefined
  inReplyTo: Array<Model.Reply> | undefined = undefined
  originalLink: string | undefined = undefined
  source: Model.Source | undefined = undefined
  points: Array<Model.Point> | undefined = undefined
  shape: Model.Shape | undefined = undefined
  media: Writable<Model.Media> | undefined = undefined
  image: Model.Image | undefined = undefined
  icon: string | undefined = undefined
  logo: string | undefined = undefined
  license: string | undefined = undefined
  generator: Model.Generator | undefined = undefined
  docs: string | undefined = undefined
  rating: string | undefined = undefined
  cloud: { [attribute: string]: string } | undefined = undefined
  textInput: { [name: string]: string } | undefined = undefined
  itunes: Writable<NonNullable<FeedHeader["itunes"]>> | undefined = undefined
  hints: Writable<PollingHints> | undefined = undefined
  extensions: { [namespace: string]: { [name: string]: string | Array<string> } } | undefined = undefined
  verbs: Array<string> | undefined = undefined
  objects: Array<Model.ActivityObject> | undefined = undefined
  objectTypes: Array<string> | undefined = undefined
  /** Values for fields that stay absent. */
  readonly fallbacks: Fallbacks = new Fallbacks()

  constructor(kind: DraftKind) {
    this.kind = kind
  }
}

class Fallbacks {
  /** dc:identifier, rdf:about. */
  id: string | undefined = undefined
  title: Model.Text | undefined = undefined
  description: Model.Text | undefined = undefined
  /** dc:date. */
  date: number | undefined = undefined
  author: string | undefined = undefined
  publisher: Model.Person | undefined = undefined
  contributor: Model.Person | undefined = undefined
  /** Author of a feed without other authors. */
  webmaster: Model.Person | undefined = undefined
  /** Alternate links for a draft without a link of the dialect, best first. */
  links: Array<Model.Link> | undefined = undefined
  image: Model.Image | undefined = undefined
  /** The `rdf:resource` of an image. */
  resource: string | undefined = undefined
  /** Media RSS: description of the media, the first picture, the first thumbnail. */
  mediaDescription: Model.Text | undefined = undefined
  picture: string | undefined = undefined
  thumbnail: string | undefined = undefined
  license: string | undefined = undefined
  /** URL of the first enclosure before FeedBurner replaced it. */
  enclosure: string | undefined = undefined
  /** RSS's `summary`. With a summary, the description is the content. */
  summary: Model.Text | undefined = undefined
  latitude: number | undefined = undefined
  longitude: number | undefined = undefined
  categories: Array<Model.Category> | undefined = undefined
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Removes undefined fields, because unknown values are absent in the model. */
export const dropUndefined = <T extends object>(fields: T): Defined<T> => {
  const result: Defined<T> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) result[key] = value as Defined<T>[typeof key]
  }
  return result
}

/** The list, or `undefined` for an empty list. */
export const dropEmptyList = <L extends ReadonlyArray<unknown>>(list: L | undefined): L | undefined =>
  list === undefined || list.length === 0 ? undefined : list
