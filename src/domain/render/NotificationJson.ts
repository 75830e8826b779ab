import type { ActivityObject, Entry, Link, Person, Point, Source, Text } from "#domain/feed/Entry.ts"
import { type FeedHeader, permalink } from "#domain/feed/Feed.ts"
import { slug } from "#domain/feed/Slug.ts"
import type { Status } from "#domain/poll/Status.ts"
import { addressed, entryLinks, sentLinks } from "./EntryFields.ts"
import { summaryOf } from "./Summary.ts"
import { legal } from "./Xml.ts"

type Json = string | number | boolean | null | ReadonlyArray<Json> | { readonly [key: string]: Json | undefined }
type JsonObject = { readonly [key: string]: Json | undefined }

export interface JsonNotification {
  readonly status: Status
  /** Absent when no document was ever read. */
  readonly header: FeedHeader | undefined
  /** In the order in which they are to stand. `undefined` for an error notification: clients test for the key `items`. */
  readonly entries: ReadonlyArray<Entry> | undefined
  /** Answers to a retrieve carry `links` (by URL) in each item beside `standardLinks`. */
  readonly retrieve?: boolean
}

/** A notification, an error notification or the answer to a retrieve. */
export const renderJson = ({ status, header, entries, retrieve }: JsonNotification): string => {
  const error = entries === undefined
  return written({
    status: statusJson(status),
    title: error ? "" : header?.title?.value ?? "",
    subtitle: error ? undefined : header?.subtitle?.value,
    updated: error ? null : seconds(header?.updated) ?? null,
    id: error ? "" : header?.id ?? "",
    standardLinks: error ? undefined : standardLinks(sentLinks(header?.links, header?.title)),
    items: entries?.map((entry) => item(entry, retrieve === true))
  })
}

/** One item that stands alone. */
export const entryJson = (entry: Entry): string => written(item(entry, false))

/** The status, as an object to be put into other answers. */
export const statusJson = (status: Status): JsonObject => ({
  code: status.code,
  http: status.http,
  nextFetch: seconds(status.nextFetch),
  entriesCountSinceLastMaintenance: status.entriesCountSinceLastMaintenance,
  velocity: status.velocity,
  popularity: status.popularity,
  pornRank: status.pornRank,
  bozoRank: status.bozoRank,
  generatedIds: status.generatedIds,
  title: status.title,
  period: status.period,
  lastFetch: seconds(status.lastFetch),
  lastParse: seconds(status.lastParse),
  lastMaintenanceAt: seconds(status.lastMaintenanceAt),
  feed: status.feed
})

const item = (entry: Entry, withLinks: boolean): JsonObject => {
  const links = entryLinks(entry)
  return {
    id: entry.id,
    published: seconds(entry.published),
    updated: seconds(entry.updated),
    title: entry.title?.value,
    content: entry.content?.[0]?.value,
    summary: summaryOf(entry)?.value,
    permalinkUrl: permalink(entry),
    standardLinks: standardLinks(links),
    links: withLinks ? linksByUrl(links, entry.title) : undefined,
    verb: short(entry.verbs),
    categories: entry.categories?.map(({ term }) => term),
    geo: geo(entry.points?.[0]),
    actor: actor(entry.authors?.[0]),
    object: object(entry.objects?.[0]),
    source: source(entry.source),
    language: entry.language
  }
}

const standardLinks = (links: ReadonlyArray<Link>): JsonObject | undefined =>
  links.length === 0
    ? undefined
    : Object.fromEntries(
      [...Map.groupBy(links, ({ rel }) => rel)].map(([rel, group]) => [
        rel,
        group.map(({ title, href, rel, type }) => ({ title, href, rel, type }))
      ])
    )

const linksByUrl = (links: ReadonlyArray<Link>, title: Text | undefined): JsonObject | undefined =>
  links.length === 0
    ? undefined
    : Object.fromEntries(links.map(({ href, title: named, rel, type }) => {
      const words = named ?? title?.value
      return [href, { href, title: named, rel, mime_type: type, id: words === undefined ? undefined : slug(words) }]
    }))

const geo = (point: Point | undefined): JsonObject | undefined =>
  point === undefined ? undefined : { type: "point", coordinates: [point.latitude, point.longitude] }

const PICTURES: ReadonlySet<string> = new Set(["picture", "avatar", "photo", "image", "preview"])

const actor = (person: Person | undefined): JsonObject | undefined =>
  person === undefined ? undefined : {
    displayName: person.name ?? person.email,
    image: addressed(person.links).find(({ rel, type }) => PICTURES.has(rel) || type?.startsWith("image/"))?.href,
    permalinkUrl: permalink(person) ?? person.uri,
    id: person.id,
    objectType: short(person.objectTypes),
    title: person.title
  }

const object = (of: ActivityObject | undefined): JsonObject | undefined =>
  of === undefined ? undefined : {
    permalinkUrl: permalink(of),
    content: of.content?.value,
    published: seconds(of.published),
    actor: actor(of.authors?.[0]),
    id: of.id,
    updated: seconds(of.updated),
    title: of.title,
    objectType: short(of.objectTypes)
  }

const source = (of: Source | undefined): JsonObject | undefined =>
  of === undefined ? undefined : {
    id: of.id,
    title: of.title?.value,
    updated: seconds(of.updated),
    permalinkUrl: permalink(of),
    standardLinks: standardLinks(sentLinks(of.links, of.title))
  }

/** The last path part of the last URI: of several types the last is the most general, and JSON has room for one. */
const short = (uris: ReadonlyArray<string> | undefined): string | undefined => {
  const last = uris?.at(-1)
  return last === undefined ? undefined : last.replace(/\/+$/, "").replace(/^.*[/#]/s, "")
}

const seconds = (at: number | undefined): number | undefined =>
  at === undefined || !Number.isFinite(at) ? undefined : Math.floor(at / 1000)

/** Escapes for what JSON may say but XML may not: some receivers choke on U+0000 and on lone surrogates. */
const SUSPECT = /\\(?:[bf]|u00[01]|ud[89a-f])|[\ufffe\uffff]/

const written = (value: JsonObject): string => {
  const json = JSON.stringify(value)
  return SUSPECT.test(json) ? JSON.stringify(cleaned(value)) : json
}

const cleaned = (value: Json | undefined): Json | undefined => {
  if (typeof value === "string") return legal(value)
  if (Array.isArray(value)) return value.map((one) => cleaned(one) ?? null)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [legal(key), cleaned(one)]))
}
