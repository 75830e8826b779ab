import type { Link } from "#domain/feed/Entry.ts"
import { decodeReferences } from "#domain/normalize/xml/CharacterReferences.ts"

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

/** Elements whose content is text or has no effect. */
const opaqueElements = new Set(["title", "script", "style", "noscript", "template"])

const tagPattern = /<(\/?)([a-z][^\s/>]*)/iy
const attributePattern = /[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|$)|'([^']*)(?:'|$)|([^\s>]*)))?/y

/**
 * Reads `<link>` elements in the head of a page: `hub`, `self`, and `alternate` links to feeds. URLs are absolute.
 *
 * Links in the body do not count, because visitors can write there. Takes linear time and never throws.
 *
 * @see https://www.w3.org/TR/websub/#discovery
 */
export const readHeadLinks = (html: string, url: string | undefined): ReadonlyArray<Link> => {
  const text = html.slice(0, maxCharacters)
  const links: Array<Link> = []
  let base = url
  for (let at = text.indexOf("<"); at >= 0 && links.length < maxHeadLinks; at = text.indexOf("<", at)) {
    if (text.startsWith("<!--", at)) {
      at = skipBehind(text, "-->", at + 4)
      continue
    }
    tagPattern.lastIndex = at
    const tag = tagPattern.exec(text)
    const key = tag?.[2]?.toLowerCase()
    if (key === undefined) {
      at = skipBehind(text, ">", at + 1)
      continue
    }
    if (!headElements.has(key) || key === "head" && tag?.[1] === "/") break
    const { attributes, end } = readAttributes(text, tagPattern.lastIndex)
    at = opaqueElements.has(key) && tag?.[1] === "" ? skipContent(text, key, end) : end
    if (key === "base") base = resolveHttpUrl(attributes.get("href"), url) ?? base
    if (key === "link") links.push(...toLinks(attributes, base))
  }
  return links
}

/** The position behind the next `mark`, or the end of the text. */
const skipBehind = (text: string, mark: string, from: number): number => {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found + mark.length
}

const skipContent = (text: string, key: string, from: number): number => {
  const close = new RegExp(`</${key}(?=[\\s/>])`, "gi")
  close.lastIndex = from
  return close.test(text) ? close.lastIndex : text.length
}

const readAttributes = (text: string, start: number) => {
  const attributes = new Map<string, string>()
  let end = start
  while (true) {
    attributePattern.lastIndex = end
    const found = attributePattern.exec(text)
    if (found === null) return { attributes, end }
    end = attributePattern.lastIndex
    const key = found[1]?.toLowerCase() ?? ""
    if (!attributes.has(key)) attributes.set(key, decodeReferences(found[2] ?? found[3] ?? found[4] ?? "").trim())
  }
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
