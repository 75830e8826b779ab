import type { Category, Link, Person, Text } from "#domain/feed/Entry.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { type DialectOptions, limitEntries, type ParsedFeed } from "./Dialect.ts"
import { dropEmptyList, dropUndefined } from "./Draft.ts"
import { addPerson } from "./Persons.ts"
import { resolveMarkup } from "./ResolveMarkup.ts"
import { isAbsolute, isBase, resolve } from "./Urls.ts"

type JsonObject = { readonly [key: string]: unknown }

/** Whether parsed JSON is a JSON Feed, by its version or by its fields. */
export const isJsonFeed = (document: unknown): document is JsonObject =>
  isObject(document) && Array.isArray(document["items"])
  && (/json[\s_-]?feed/i.test(readString(document["version"]) ?? "") || looksLikeFeed(document))

/** Recognizes a feed without a version, or with an odd one such as `1.1`. */
const looksLikeFeed = ({ title, feed_url, home_page_url, items, version }: JsonObject): boolean =>
  readString(title) !== undefined && (readString(feed_url) ?? readString(home_page_url)) !== undefined ||
  /^v?\d(?:\.\d)?$/i.test(readString(version) ?? "") &&
    (toList(items).length === 0 ? readString(title) !== undefined : toList(items).some(looksLikeItem))

/** Whether an object has an id, and fields that only items of JSON Feed have. */
const looksLikeItem = (item: unknown): boolean =>
  isObject(item) && (readString(item["id"]) ?? readString(item["url"])) !== undefined &&
  ["content_html", "content_text", "date_published", "external_url"].some((key) => readString(item[key]) !== undefined)

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Reads JSON Feed 1.0 and 1.1. A field of the wrong type is absent, except that numbers become texts. */
export const readJsonFeed = (document: JsonObject, { url, language, maxEntries }: DialectOptions): ParsedFeed => {
  const base = chooseBase(document, url)
  const header = readHeader(document, base, language)
  const entries = toList(document["items"]).filter(isObject).map((item) => readItem(item, base, header))
  return {
    version: readString(document["version"])?.endsWith("1.1") === true ? "json11" : "json1",
    header: dropUndefined({ ...header, updated: findNewestDate(entries) }),
    ...limitEntries(entries, maxEntries)
  }
}

/** The date of a feed is that of its newest item, because JSON Feed has no other. */
const findNewestDate = (entries: ReadonlyArray<RawEntry>): number | undefined => {
  let newest: number | undefined
  for (const { published, updated } of entries) {
    const date = updated ?? published
    if (date !== undefined && (newest === undefined || date > newest)) newest = date
  }
  return newest
}

const chooseBase = (document: JsonObject, url: string | undefined): string =>
  [readString(document["feed_url"]), url, readString(document["home_page_url"])].find((candidate) =>
    candidate !== undefined && isBase(candidate)
  ) ?? ""

const readHeader = (document: JsonObject, base: string, language: string | undefined): FeedHeader => {
  const icon = readUrl(document["favicon"], base) ?? readUrl(document["icon"], base)
  const logo = readUrl(document["icon"], base)
  return dropUndefined({
    id: readUrl(document["feed_url"], base),
    title: readTextConstruct(document["title"], "text"),
    subtitle: readTextConstruct(document["description"], "text"),
    links: makeLinks([
      ["alternate", document["home_page_url"]],
      ["self", document["feed_url"]],
      ["next", document["next_url"]],
      ...toList(document["hubs"]).filter(isObject).filter(isWebSubHub).map(({ url }) => ["hub", url] as const)
    ], base),
    language: readString(document["language"]) ?? language,
    authors: readAuthors(document, base),
    icon,
    logo,
    image: logo === undefined ? undefined : { url: logo },
    info: readTextConstruct(document["user_comment"], "text")
  })
}

/** JSON Feed also names servers of other protocols as hubs, for example of rssCloud. */
const isWebSubHub = ({ type }: JsonObject): boolean => readString(type)?.trim().toLowerCase() === "websub"

const readItem = (item: JsonObject, base: string, feed: FeedHeader): RawEntry => {
  const image = readUrl(item["image"], base) ?? readUrl(item["banner_image"], base)
  return dropUndefined({
    id: readString(item["id"]),
    title: readTextConstruct(item["title"], "text"),
    summary: readTextConstruct(item["summary"], "text"),
    content: dropEmptyList(
      [readHtml(item["content_html"], base), readTextConstruct(item["content_text"], "text")].filter((one) =>
        one !== undefined
      )
    ),
    links: dropEmptyList([
      ...makeLinks([["alternate", item["url"] ?? item["external_url"]], ["related", item["external_url"]]], base) ?? [],
      ...toList(item["attachments"]).filter(isObject).flatMap((attachment) => readAttachment(attachment, base))
    ]),
    published: readDate(item["date_published"]),
    updated: readDate(item["date_modified"]),
    // The specification gives an item without authors the authors of the feed.
    authors: readAuthors(item, base) ?? feed.authors,
    categories: readTags(item["tags"]),
    language: readString(item["language"]) ?? feed.language,
    image: image === undefined ? undefined : { url: image }
  })
}

const toList = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]

/** Reads a text. Some ids are numbers; large ones come as their digits. */
const readString = (value: unknown): string | undefined => {
  const plain = typeof value === "string" ? value.trim() : typeof value === "number" ? String(value) : ""
  return plain === "" ? undefined : plain
}

const readDate = (value: unknown): number | undefined => {
  const plain = readString(value)
  return plain === undefined ? undefined : parseDate(plain)
}

const readUrl = (value: unknown, base: string): string | undefined => {
  const plain = readString(value)
  return plain === undefined ? undefined : resolve(base, plain)
}

const readTextConstruct = (value: unknown, type: string): Text | undefined => {
  const plain = readString(value)
  return plain === undefined ? undefined : { value: plain, type }
}

const readHtml = (value: unknown, base: string): Text | undefined => {
  const plain = readString(value)
  return plain === undefined ? undefined : { value: resolveMarkup(plain, base), type: "html" }
}

const makeLinks = (
  pairs: ReadonlyArray<readonly [rel: string, href: unknown]>,
  base: string
): ReadonlyArray<Link> | undefined =>
  dropEmptyList(pairs.flatMap(([rel, href]) => {
    const found = readUrl(href, base)
    return found === undefined ? [] : [{ href: found, rel }]
  }))

const readAttachment = (attachment: JsonObject, base: string): ReadonlyArray<Link> => {
  const href = readUrl(attachment["url"], base)
  if (href === undefined) return []
  const size = Number(attachment["size_in_bytes"] ?? Number.NaN)
  const length = Number.isSafeInteger(size) && size >= 0 ? size : undefined
  return [{
    href,
    rel: "enclosure",
    ...dropUndefined({ type: readString(attachment["mime_type"]), title: readString(attachment["title"]), length })
  }]
}

/** Reads the author list of 1.1 and the single author of 1.0. Some feeds have both. */
const readAuthors = (owner: JsonObject, base: string): ReadonlyArray<Person> | undefined =>
  [...toList(owner["authors"]).slice(0, 100), ...toList(owner["author"])].filter(isObject)
    .map((author) => readAuthor(author, base))
    .filter((person) => Object.keys(person).length > 0)
    .reduce<Array<Person> | undefined>(addPerson, undefined)

const readAuthor = ({ name, url, avatar }: JsonObject, base: string): Person => {
  const uri = readUrl(url, base)
  const picture = readUrl(avatar, base)
  return dropUndefined({
    name: readString(name),
    uri: uri?.startsWith("mailto:") === true ? undefined : uri,
    email: uri?.startsWith("mailto:") === true ? uri.slice(7) : undefined,
    links: picture === undefined || !isAbsolute(picture) ? undefined : [{ href: picture, rel: "avatar" }]
  })
}

const readTags = (tags: unknown): ReadonlyArray<Category> | undefined =>
  dropEmptyList(
    [...new Set(toList(tags).slice(0, 1000).flatMap((tag) => readString(tag) ?? []))].slice(0, 500).map((term) => ({
      term
    }))
  )
