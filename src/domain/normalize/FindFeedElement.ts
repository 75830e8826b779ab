import { toNamespaceKey } from "#domain/normalize/namespaces/NamespaceKeys.ts"
import { getChildElements, getExactAttribute, getValue } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"

const feedRoots = new Set(["rss", "rdf", "feed", "channel", "entry"])
/** A feed may be wrapped: in a proxy's page, in a SOAP envelope. Not deeper than this. */
const maxWrapperDepth = 12

interface Refused {
  readonly kind: "html" | "xml" | "other"
  readonly reason: string
}

/** Most letters of the world, without what stands in tags that are none. */
const elementName = /^[\p{L}_][\p{L}\p{M}\p{N}._-]*$/u

/**
 * The element that is the feed, wherever it stands; or what the document is instead.
 *
 * `inText`: other characters stand before the first tag, and nothing says that it is XML, such as in a text that shows an address in `<>`.
 */
export const findFeedElement = (document: Element, inText: boolean): Element | Refused => {
  const first = getChildElements(document)[0]
  if (first === undefined) return { kind: "other", reason: "text or binary data without markup" }
  const isElement = elementName.test(first.name)
  // a text may quote a feed
  const feed = inText && !isElement ? undefined : searchFeed(document, 0)
  if (feed !== undefined) return feed
  if (first.key === "html" || isHtml(document)) return { kind: "html", reason: "an HTML page, not a feed" }
  return inText || !isElement
    ? { kind: "other", reason: "text or binary data with tags in it, neither XML nor HTML" }
    : { kind: "xml", reason: `an XML document of <${first.name.slice(0, 100)}>, not a feed` }
}

const searchFeed = (parent: Element, depth: number): Element | undefined => {
  for (const child of getChildElements(parent)) {
    const found = isFeed(child) ? child : depth < maxWrapperDepth ? searchFeed(child, depth + 1) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** `feed`, `channel` and `entry` are words of other vocabularies too: they need a feed's namespace or children. */
const isFeed = (element: Element): boolean => {
  if (!feedRoots.has(element.key)) return false
  if (element.key === "rss") return true
  if (element.key === "rdf") {
    return hasChild(element, ["channel", "item", "image"]) ||
      element.attributes.some((text) => toNamespaceKey(text) === "rss")
  }
  if (element.namespace === "atom" || element.attributes.some((text) => toNamespaceKey(text) === "atom")) return true
  return element.key === "entry"
    ? hasChild(element, ["id"]) && hasChild(element, ["title", "content"])
    : hasChild(element, ["title", "item", "entry", "link", "abstract"]) || getValue(element, "lastmod") !== undefined ||
      element.key === "channel" && getValue(element, "href") !== undefined
}

const hasChild = (element: Element, keys: ReadonlyArray<string>): boolean =>
  getChildElements(element).some(({ key }) => keys.includes(key))

const htmlElements = new Set(["html", "head", "body", "div", "p", "script", "table", "a", "meta", "title"])

const isHtml = (document: Element): boolean =>
  getChildElements(document).slice(0, 20).some((element) =>
    htmlElements.has(element.key) && getExactAttribute(element, "xmlns") === undefined
  )
