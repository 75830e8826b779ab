import type { Link } from "#domain/feed/Entry.ts"
import { readTags } from "./HtmlTags.ts"

/** Limits per page. */
const maxCharacters = 524_288
const maxHeadLinks = 100

/** Elements of a head. The first other element ends the head. */
const headElements = new Set([
  "html",
  "head",
  "meta",
  "link",
  "base",
  "title",
  "script",
  "style",
  "noscript",
  "template"
])

/**
 * Reads `<link>` elements in the head of a page: `hub`, `self`, and `alternate` links to feeds. URLs are absolute.
 *
 * Links in the body do not count, because visitors can write there. Takes linear time and never throws.
 *
 * @see https://www.w3.org/TR/websub/#discovery
 */
export const readHeadLinks = (html: string, url: string | undefined): ReadonlyArray<Link> => {
  const links: Array<Link> = []
  let base = url
  for (const { key, isEnd, attributes } of readTags(html.slice(0, maxCharacters))) {
    if (links.length >= maxHeadLinks || !headElements.has(key) || key === "head" && isEnd) break
    if (key === "base") base = resolveHttpUrl(attributes.get("href"), url) ?? base
    if (key === "link") links.push(...toLinks(attributes, base))
  }
  return links
}

const resolveHttpUrl = (reference: string | undefined, base: string | undefined): string | undefined => {
  if (reference === undefined || reference === "") return undefined
  const url = URL.parse(reference, base)
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url.href : undefined
}

const toLinks = (attributes: ReadonlyMap<string, string>, base: string | undefined): ReadonlyArray<Link> => {
  const href = resolveHttpUrl(attributes.get("href"), base)
  if (href === undefined) return []
  const rels = new Set((attributes.get("rel") ?? "").toLowerCase().split(/\s+/))
  const type = attributes.get("type")?.toLowerCase().split(";", 1)[0]?.trim()
  const title = attributes.get("title")
  const feed = {
    href,
    rel: "alternate",
    ...(type === undefined ? {} : { type }),
    ...(title === undefined ? {} : { title })
  }
  return [
    ...["hub", "self"].filter((rel) => rels.has(rel)).map((rel) => ({ href, rel })),
    ...(isFeedLink(rels, type) ? [feed] : [])
  ]
}

const feedTypes = new Set([
  "application/rss+xml",
  "application/atom+xml",
  "application/rdf+xml",
  "application/feed+json"
])

/** Whether a link leads to a feed. `application/json` does not count, because such links mostly lead to data for scripts. */
const isFeedLink = (rels: ReadonlySet<string>, type: string | undefined): boolean =>
  rels.has("feed") || rels.has("alternate") && !rels.has("stylesheet") && type !== undefined && feedTypes.has(type)
