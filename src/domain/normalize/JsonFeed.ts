import type { Category, Link, Person, Text } from "#domain/feed/Entry.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import type { Outside, Reading } from "./Dialect.ts"
import { defined } from "./Draft.ts"
import { addPerson } from "./Persons.ts"
import { resolveMarkup } from "./Markup.ts"
import { isAbsolute, isBase, resolve } from "./Urls.ts"

type Json = { readonly [key: string]: unknown }

/** Whether parsed JSON is a JSON Feed: it says so, or it has items that look like one. */
export const isJsonFeed = (document: unknown): document is Json =>
  isObject(document) && Array.isArray(document["items"])
  && (text(document["version"])?.includes("jsonfeed.org") === true || looksLikeFeed(document))

/** Some leave the version out. */
const looksLikeFeed = ({ title, feed_url, home_page_url }: Json): boolean =>
  text(title) !== undefined && (text(feed_url) ?? text(home_page_url)) !== undefined

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

/** JSON Feed 1.0 and 1.1. A field of the wrong type is absent, but for numbers where texts should be. */
export const readJsonFeed = (document: Json, { url, language, most }: Outside): Reading => {
  const base = baseOf(document, url)
  const header = headerOf(document, base, language)
  return {
    version: text(document["version"])?.endsWith("/1.1") === true ? "json11" : "json1",
    header,
    entries: list(document["items"]).filter(isObject).slice(0, most).map((item) => entryOf(item, base, header))
  }
}

const baseOf = (document: Json, url: string | undefined): string =>
  [text(document["feed_url"]), url, text(document["home_page_url"])].find((candidate) =>
    candidate !== undefined && isBase(candidate)
  ) ?? ""

const headerOf = (document: Json, base: string, language: string | undefined): FeedHeader => {
  const icon = address(document["favicon"], base) ?? address(document["icon"], base)
  const logo = address(document["icon"], base)
  return defined({
    id: text(document["feed_url"]),
    title: construct(document["title"], "text"),
    subtitle: construct(document["description"], "text"),
    links: linksOf([
      ["alternate", document["home_page_url"]],
      ["self", document["feed_url"]],
      ["next", document["next_url"]],
      ...list(document["hubs"]).filter(isObject).map(({ url }) => ["hub", url] as const)
    ], base),
    language: text(document["language"]) ?? language,
    authors: authorsOf(document, base),
    icon,
    logo,
    image: logo === undefined ? undefined : { url: logo },
    info: construct(document["user_comment"], "text")
  })
}

const entryOf = (item: Json, base: string, feed: FeedHeader): RawEntry => {
  const image = address(item["image"], base) ?? address(item["banner_image"], base)
  return defined({
    id: text(item["id"]),
    title: construct(item["title"], "text"),
    summary: construct(item["summary"], "text"),
    content: filled(
      [html(item["content_html"], base), construct(item["content_text"], "text")].filter((one) => one !== undefined)
    ),
    links: filled([
      ...linksOf([["alternate", item["url"] ?? item["external_url"]], ["related", item["external_url"]]], base) ?? [],
      ...list(item["attachments"]).filter(isObject).flatMap((attachment) => enclosure(attachment, base))
    ]),
    published: date(item["date_published"]),
    updated: date(item["date_modified"]),
    // An item without authors has those of the feed, says the specification.
    authors: authorsOf(item, base) ?? feed.authors,
    categories: categoriesOf(item["tags"]),
    language: text(item["language"]) ?? feed.language,
    image: image === undefined ? undefined : { url: image }
  })
}

const list = (value: unknown): ReadonlyArray<unknown> =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]

const filled = <T>(values: ReadonlyArray<T>): ReadonlyArray<T> | undefined => values.length === 0 ? undefined : values

/** Ids are written as numbers too. */
const text = (value: unknown): string | undefined => {
  const plain = typeof value === "string" ? value.trim() : typeof value === "number" ? String(value) : ""
  return plain === "" ? undefined : plain
}

const date = (value: unknown): number | undefined => {
  const plain = text(value)
  return plain === undefined ? undefined : parseDate(plain)
}

const address = (value: unknown, base: string): string | undefined => {
  const plain = text(value)
  return plain === undefined ? undefined : resolve(base, plain)
}

const construct = (value: unknown, type: string): Text | undefined => {
  const plain = text(value)
  return plain === undefined ? undefined : { value: plain, type }
}

const html = (value: unknown, base: string): Text | undefined => {
  const plain = text(value)
  return plain === undefined ? undefined : { value: resolveMarkup(plain, base), type: "html" }
}

const linksOf = (
  pairs: ReadonlyArray<readonly [rel: string, href: unknown]>,
  base: string
): ReadonlyArray<Link> | undefined =>
  filled(pairs.flatMap(([rel, href]) => {
    const found = address(href, base)
    return found === undefined ? [] : [{ href: found, rel }]
  }))

const enclosure = (attachment: Json, base: string): ReadonlyArray<Link> => {
  const href = address(attachment["url"], base)
  if (href === undefined) return []
  const size = Number(attachment["size_in_bytes"] ?? Number.NaN)
  const length = Number.isSafeInteger(size) && size >= 0 ? size : undefined
  return [{
    href,
    rel: "enclosure",
    ...defined({ type: text(attachment["mime_type"]), title: text(attachment["title"]), length })
  }]
}

/** 1.1 has a list of authors, 1.0 one author; both may stand beside each other for old readers. */
const authorsOf = (of: Json, base: string): ReadonlyArray<Person> | undefined =>
  [...list(of["authors"]).slice(0, 100), ...list(of["author"])].filter(isObject)
    .map((author) => personOf(author, base))
    .filter((person) => Object.keys(person).length > 0)
    .reduce<Array<Person> | undefined>(addPerson, undefined)

const personOf = ({ name, url, avatar }: Json, base: string): Person => {
  const uri = address(url, base)
  const picture = address(avatar, base)
  return defined({
    name: text(name),
    uri: uri?.startsWith("mailto:") === true ? undefined : uri,
    email: uri?.startsWith("mailto:") === true ? uri.slice(7) : undefined,
    links: picture === undefined || !isAbsolute(picture) ? undefined : [{ href: picture, rel: "avatar" }]
  })
}

const categoriesOf = (tags: unknown): ReadonlyArray<Category> | undefined =>
  filled(
    [...new Set(list(tags).slice(0, 1000).flatMap((tag) => text(tag) ?? []))].slice(0, 500).map((term) => ({ term }))
  )
