import type * as Model from "#domain/feed/Entry.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { type FeedHeader, getHubs, getLinks, getPermalink, getSelfLink } from "#domain/feed/Feed.ts"
import type { ReadResult } from "#domain/normalize/ReadFeed.ts"

type Fields = { readonly [name: string]: unknown }

/**
 * A read document with the field names that feed parsers' test suites use: snake case, dates in ISO 8601, enclosures apart from links.
 *
 * For comparing readers, and for people who know other parsers; nothing of it is sent to subscribers.
 */
export const neutralModel = (result: ReadResult, url?: string): Fields => {
  if (result._tag === "NotFeed") return { kind: result.kind, error: result.reason }
  const { feed } = result
  return {
    kind: "feed",
    version: feed.version,
    encoding: feed.encoding,
    bozo: feed.repairs.length > 0,
    feed: header(feed.header, url),
    entries: feed.entries.map(entry)
  }
}

const header = (feed: FeedHeader, url: string | undefined): Fields => ({
  ...texts("title", feed.title),
  ...texts("subtitle", feed.subtitle),
  ...texts("rights", feed.rights),
  ...texts("info", feed.info),
  id: feed.id,
  link: getPermalink(feed) ?? getSelfLink(feed) ?? url,
  links: feed.links,
  hub: getHubs(feed),
  self: getSelfLink(feed),
  updated: iso(feed.updated),
  published: iso(feed.published),
  created: iso(feed.created),
  language: feed.language,
  authors: feed.authors,
  contributors: feed.contributors,
  publisher: feed.publisher,
  generator: feed.generator,
  image: feed.image,
  icon: feed.icon,
  logo: feed.logo,
  categories: feed.categories,
  ttl: feed.hints?.ttl,
  docs: feed.docs,
  cloud: feed.cloud,
  textinput: feed.textInput,
  rating: feed.rating,
  license: feed.license,
  geo: geo(feed),
  media: feed.media,
  itunes: feed.itunes === undefined ? undefined : lowerCased(feed.itunes),
  sy: { period: feed.hints?.updatePeriod, frequency: feed.hints?.updateFrequency }
})

const entry = (of: RawEntry): Fields => ({
  ...texts("title", of.title),
  ...texts("summary", of.summary),
  ...texts("rights", of.rights),
  id: of.id,
  id_is_permalink: of.idIsPermalink,
  link: getPermalink(of),
  links: of.links,
  enclosures: getLinks(of.links, "enclosure"),
  content: of.content?.map((content) => ({ ...content, type: MIME[content.type] ?? content.type })),
  published: iso(of.published),
  updated: iso(of.updated),
  created: iso(of.created),
  expired: iso(of.expired),
  authors: of.authors,
  contributors: of.contributors,
  publisher: of.publisher,
  categories: of.categories,
  language: of.language,
  comments: of.comments,
  comments_feed: of.commentsFeed,
  comment_count: of.commentCount,
  in_reply_to: of.inReplyTo,
  orig_link: of.originalLink,
  source: of.source === undefined ? undefined : source(of.source),
  geo: geo(of),
  media: of.media === undefined
    ? undefined
    : { ...of.media, credits: of.media.credits?.map(({ role, value }) => ({ role, name: value })) },
  image: of.image?.url,
  license: of.license,
  itunes: of.itunes === undefined ? undefined : lowerCased(of.itunes),
  extensions: of.extensions,
  verbs: of.verbs,
  objects: of.objects
})

const source = (of: Model.Source): Fields => ({
  ...texts("title", of.title),
  ...texts("subtitle", of.subtitle),
  ...texts("rights", of.rights),
  id: of.id,
  link: getPermalink(of) ?? getSelfLink(of),
  links: of.links,
  updated: iso(of.updated),
  language: of.language,
  authors: of.authors,
  contributors: of.contributors,
  categories: of.categories,
  icon: of.icon,
  logo: of.logo,
  generator: of.generator
})

const MIME: { readonly [type: string]: string | undefined } = {
  text: "text/plain",
  html: "text/html",
  xhtml: "application/xhtml+xml"
}

const texts = (name: string, text: Model.Text | undefined): Fields =>
  text === undefined
    ? {}
    : {
      [name]: text.value,
      [`${name}_type`]: text.type,
      [`${name}_language`]: text.language,
      [`${name}_base`]: text.base
    }

const iso = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString().replace(".000Z", "Z")

/** The first place as one GeoJSON-like object; coordinates are longitude, latitude. */
const geo = (
  { points, shape }: { readonly points?: ReadonlyArray<Model.Point>; readonly shape?: Model.Shape }
): Fields | undefined => {
  const [point] = points ?? []
  if (point !== undefined) {
    return { type: "point", lat: point.latitude, lon: point.longitude, coordinates: [point.longitude, point.latitude] }
  }
  if (shape === undefined) return undefined
  return {
    type: shape.type.toLowerCase(),
    coordinates: shape.type === "Polygon" ? [shape.coordinates] : shape.coordinates
  }
}

const lowerCased = (fields: object): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.toLowerCase(), Array.isArray(value) ? value.join(", ") : value])
  )
