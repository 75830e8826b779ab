import type { ActivityObject, Entry, Link, Person, Point, Source, Text } from "#domain/feed/Entry.ts"
import { type FeedHeader, getPermalink } from "#domain/feed/Feed.ts"
import { toSlug } from "#domain/feed/Slug.ts"
import type { Status } from "#domain/poll/Status.ts"
import {
  completeLinks,
  dropLinksWithoutAddress,
  dropNamelessCategories,
  getEntryLinks,
  getFeedId,
  getPoints
} from "./EntryFields.ts"
import { toPlainText } from "./PlainText.ts"
import { renderOnce } from "./RenderOnce.ts"
import { dropIllegalCharacters } from "./Xml.ts"

type JsonValue = string | number | boolean | null | ReadonlyArray<JsonValue> | {
  readonly [key: string]: JsonValue | undefined
}
type JsonObject = { readonly [key: string]: JsonValue | undefined }

export interface JsonNotification {
  readonly status: Status
  /** `undefined` before the first document. */
  readonly header: FeedHeader | undefined
  /** In document order. `undefined` for a failure notification, because clients test for the key `items`. */
  readonly entries: ReadonlyArray<Entry> | undefined
  /** A retrieve response has `links` (by URL) in each item beside `standardLinks`. */
  readonly retrieve?: boolean
}

/** Renders a notification, a failure notification or a retrieve response. */
export const renderJson = ({ status, header, entries, retrieve }: JsonNotification): string => {
  const error = entries === undefined
  const head = stringify({
    status: statusToJson(status),
    title: error ? "" : plainTextOf(header?.title) ?? "",
    subtitle: error ? undefined : plainTextOf(header?.subtitle),
    updated: error ? null : toSeconds(header?.updated) ?? null,
    id: error ? "" : getFeedId(header, status),
    standardLinks: error ? undefined : groupLinks(completeLinks(header?.links, header?.title))
  })
  if (error) return head
  const items = retrieve === true ? renderRetrieved(entries) : entries.map(renderEntryJson).join(",")
  return `${head.slice(0, -1)},"items":[${items}]}`
}

/** Renders the items of a retrieve response. */
const renderRetrieved = renderOnce((entries: ReadonlyArray<Entry>): string =>
  entries.map((entry) => stringify(toItem(entry, true))).join(",")
)

/** Renders a single item. */
export const renderEntryJson = (entry: Entry): string => stringify(toItem(entry, false))

/** The status as an object, for use in other responses. */
export const statusToJson = (status: Status): JsonObject => ({
  code: status.code,
  http: status.http,
  nextFetch: toSeconds(status.nextFetch),
  entriesCountSinceLastMaintenance: status.entriesCountSinceLastMaintenance,
  velocity: status.velocity,
  popularity: status.popularity,
  pornRank: status.pornRank,
  bozoRank: status.bozoRank,
  generatedIds: status.generatedIds,
  title: status.title,
  period: status.period,
  lastFetch: toSeconds(status.lastFetch),
  lastParse: toSeconds(status.lastParse),
  lastMaintenanceAt: toSeconds(status.lastMaintenanceAt),
  feed: status.feed
})

const toItem = (entry: Entry, withLinks: boolean): JsonObject => {
  const links = getEntryLinks(entry)
  return {
    id: entry.id,
    published: toSeconds(entry.published),
    updated: toSeconds(entry.updated),
    title: plainTextOf(entry.title),
    content: entry.content?.[0]?.value,
    summary: entry.summary?.value,
    permalinkUrl: getPermalink(entry),
    standardLinks: groupLinks(links),
    links: withLinks ? indexLinks(links, entry.title) : undefined,
    verb: shortenUri(entry.verbs),
    categories: entry.categories === undefined
      ? undefined
      : [...new Set(dropNamelessCategories(entry.categories).map(({ term }) => term))],
    geo: toGeo(getPoints(entry)[0]),
    actor: toActor(entry.authors?.[0]),
    object: toObject(entry.objects?.[0]),
    source: toSource(entry.source),
    language: entry.language,
    event: entry.event === undefined ? undefined : { ...entry.event }
  }
}

/** A title as plain text, because JSON names no type. */
const plainTextOf = (text: Text | undefined): string | undefined => text === undefined ? undefined : toPlainText(text)

const groupLinks = (links: ReadonlyArray<Link>): JsonObject | undefined =>
  links.length === 0
    ? undefined
    : Object.fromEntries(
      [...Map.groupBy(links, ({ rel }) => rel)].map(([rel, group]) => [
        rel,
        group.map(({ title, href, rel, type }) => ({ title, href, rel, type }))
      ])
    )

const indexLinks = (links: ReadonlyArray<Link>, title: Text | undefined): JsonObject | undefined =>
  links.length === 0
    ? undefined
    : Object.fromEntries(links.map(({ href, title: ownTitle, rel, type }) => {
      const anyTitle = ownTitle ?? plainTextOf(title)
      return [href, {
        href,
        title: ownTitle,
        rel,
        mime_type: type,
        id: anyTitle === undefined ? undefined : toSlug(anyTitle)
      }]
    }))

const toGeo = (point: Point | undefined): JsonObject | undefined =>
  point === undefined ? undefined : { type: "point", coordinates: [point.latitude, point.longitude] }

const pictureRelations: ReadonlySet<string> = new Set(["picture", "avatar", "photo", "image", "preview"])

const toActor = (person: Person | undefined): JsonObject | undefined =>
  person === undefined ? undefined : {
    displayName: person.name ?? person.email,
    image: dropLinksWithoutAddress(person.links).find(({ rel, type }) =>
      pictureRelations.has(rel) || type?.startsWith("image/")
    )?.href,
    permalinkUrl: getPermalink(person) ?? person.uri,
    id: person.id,
    objectType: shortenUri(person.objectTypes),
    title: person.title
  }

const toObject = (object: ActivityObject | undefined): JsonObject | undefined =>
  object === undefined ? undefined : {
    permalinkUrl: getPermalink(object),
    content: object.content?.value,
    published: toSeconds(object.published),
    actor: toActor(object.authors?.[0]),
    id: object.id,
    updated: toSeconds(object.updated),
    title: object.title,
    objectType: shortenUri(object.objectTypes)
  }

const toSource = (source: Source | undefined): JsonObject | undefined =>
  source === undefined ? undefined : {
    id: source.id,
    title: plainTextOf(source.title),
    updated: toSeconds(source.updated),
    permalinkUrl: getPermalink(source),
    standardLinks: groupLinks(completeLinks(source.links, source.title))
  }

/** Characters at the end of a URI of a type that are read: a pattern takes seconds for a hundred thousand slashes. */
const maxTypeLength = 2_048

/** The last path part of the last URI, because the last type is the most general one. */
const shortenUri = (uris: ReadonlyArray<string> | undefined): string | undefined => {
  const last = uris?.at(-1)
  return last === undefined ? undefined : last.slice(-maxTypeLength).replace(/\/+$/, "").replace(/^.*[/#]/s, "")
}

const toSeconds = (at: number | undefined): number | undefined =>
  at === undefined || !Number.isFinite(at) ? undefined : Math.floor(at / 1000)

/** Escapes of characters that are illegal in XML. Some receivers fail on U+0000 and on lone surrogates. */
const illegalEscape = /\\(?:[bf]|u00[01]|ud[89a-f])|[\ufffe\uffff]/

const stringify = (value: JsonObject): string => {
  const json = JSON.stringify(value)
  return illegalEscape.test(json) ? JSON.stringify(dropIllegal(value)) : json
}

const dropIllegal = (value: JsonValue | undefined): JsonValue | undefined => {
  if (typeof value === "string") return dropIllegalCharacters(value)
  if (Array.isArray(value)) return value.map((one) => dropIllegal(one) ?? null)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [dropIllegalCharacters(key), dropIllegal(one)]))
}
