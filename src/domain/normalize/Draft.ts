import type * as Model from "#domain/feed/Entry.ts"
import type { FeedHeader, PollingHints } from "#domain/feed/Feed.ts"

/** `T` while it is written: nothing is there yet, and all may change. */
export type Writable<T> = {
  -readonly [K in keyof T]?: (T[K] extends ReadonlyArray<infer E> | undefined ? Array<E> : T[K]) | undefined
}

/** What a draft is of: some elements mean another thing in a feed than in an entry. */
export type DraftKind = "feed" | "entry" | "source" | "object"

/**
 * A feed, entry, source or activity object while its elements are read.
 *
 * All fields exist from the beginning, so that drafts are alike for the engine, whatever a publisher writes. What a field may fall back to
 * is kept beside it: the order of elements must not decide.
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
  /** What takes the place of a field that is not there. */
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
  /** A feed that names nobody else is the webmaster's. */
  webmaster: Model.Person | undefined = undefined
  /** Links that are only followed where the dialect's own is missing, the better one first. */
  links: Array<Model.Link> | undefined = undefined
  image: Model.Image | undefined = undefined
  license: string | undefined = undefined
  /** The address of the first enclosure before it was counted. */
  enclosure: string | undefined = undefined
  /** RSS's summary, which leaves the description to be the content. */
  summary: Model.Text | undefined = undefined
  latitude: number | undefined = undefined
  longitude: number | undefined = undefined
  categories: Array<Model.Category> | undefined = undefined
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Without the fields that are undefined: in the model, what is not known is absent. */
export const dropUndefined = <T extends object>(fields: T): Defined<T> => {
  const result: Defined<T> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) result[key] = value as Defined<T>[typeof key]
  }
  return result
}
