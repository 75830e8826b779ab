import type { Point, Shape, Source, Text } from "#domain/feed/Entry.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { type FeedHeader, getHubs, getLinks, getPermalink, getSelfLink } from "#domain/feed/Feed.ts"
import type { ReadResult } from "#domain/normalize/ReadFeed.ts"

type Fields = { readonly [name: string]: unknown }

/**
 * A document with the field names of feed parsers' test suites: snake case, dates in ISO 8601, enclosures apart from links.
 *
 * For comparisons of readers, and for people who know other parsers. Subscribers never receive this form.
 */
export const neutralModel = (result: ReadResult, url?: string): Fields => {
  if (result._tag === "NotFeed") return { kind: result.kind, error: result.reason }
  const { feed } = result
  return {
    kind: "feed",
    version: feed.version,
    encoding: feed.encoding,
    bozo: feed.repairs.length > 0,
    feed: toNeutralHeader(feed.header, url),
    entries: feed.entries.map(toNeutralEntry)
  }
}

const toNeutralHeader = ({ hints, points, shape, extensions: _, ...feed }: FeedHeader, url?: string): Fields => ({
  ...renameFields(feed),
  link: getPermalink(feed) ?? getSelfLink(feed) ?? url,
  hub: getHubs(feed),
  self: getSelfLink(feed),
  ttl: hints?.ttl,
  geo: toNeutralGeo(points, shape),
  sy: { period: hints?.updatePeriod, frequency: hints?.updateFrequency }
})

const toNeutralEntry = ({ points, shape, source, ...entry }: RawEntry): Fields => ({
  ...renameFields(entry),
  link: getPermalink(entry),
  title_language: entry.title?.language ?? entry.language,
  id_is_permalink: entry.idIsPermalink === undefined ? undefined : entry.idIsPermalink && isPermalink(entry),
  enclosures: getLinks(entry.links, "enclosure"),
  content: entry.content?.map((content) => ({ ...content, type: mimeTypes[content.type] ?? content.type })),
  source: source === undefined ? undefined : toNeutralSource(source),
  geo: toNeutralGeo(points, shape),
  media: entry.media === undefined
    ? undefined
    : { ...entry.media, credits: entry.media.credits?.map(({ role, value }) => ({ role, name: value })) },
  image: entry.image?.url
})

/** Whether the id is the entry's link, or the entry has no other link. */
const isPermalink = (entry: RawEntry): boolean => {
  const permalink = getPermalink(entry)
  return permalink === undefined || permalink === entry.id
}

const toNeutralSource = (source: Source): Fields => ({
  ...renameFields(source),
  link: getPermalink(source) ?? getSelfLink(source)
})

const mimeTypes: { readonly [type: string]: string | undefined } = {
  text: "text/plain",
  html: "text/html",
  xhtml: "application/xhtml+xml"
}

/** Names that do not follow from the name in the model. */
const otherNames: { readonly [name: string]: string | undefined } = {
  originalLink: "orig_link",
  textInput: "textinput"
}

const times: ReadonlySet<string> = new Set(["published", "updated", "created", "expired"])

const renameFields = (fields: object): Fields => Object.fromEntries(Object.entries(fields).flatMap(renameField))

const renameField = ([name, value]: readonly [string, unknown]): ReadonlyArray<readonly [string, unknown]> => {
  if (isText(value)) return textFields(name, value)
  if (typeof value === "number" && times.has(name)) return [[name, new Date(value).toISOString().replace(".000Z", "Z")]]
  if (name === "itunes" && typeof value === "object" && value !== null) return [[name, lowerCaseNames(value)]]
  return [[otherNames[name] ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]]
}

const isText = (value: unknown): value is Text =>
  typeof value === "object" && value !== null && "value" in value && "type" in value

const textFields = (name: string, text: Text): ReadonlyArray<readonly [string, unknown]> => [
  [name, text.value],
  [`${name}_type`, text.type],
  [`${name}_language`, text.language],
  [`${name}_base`, text.base]
]

/** The first point, or else the shape, as in GeoJSON: longitude, latitude. */
const toNeutralGeo = (points: ReadonlyArray<Point> | undefined, shape: Shape | undefined): Fields | undefined => {
  const point = points?.[0]
  if (point !== undefined) {
    return { type: "point", lat: point.latitude, lon: point.longitude, coordinates: [point.longitude, point.latitude] }
  }
  if (shape === undefined) return undefined
  return {
    type: shape.type.toLowerCase(),
    coordinates: shape.type === "Polygon" ? [shape.coordinates] : shape.coordinates
  }
}

const lowerCaseNames = (fields: object): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [name.toLowerCase(), Array.isArray(value) ? value.join(", ") : value])
  )
