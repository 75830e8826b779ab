import { toNamespaceKey } from "#domain/normalize/namespaces/NamespaceKeys.ts"
import { type Element, getChildElements, getExactAttribute, getValue } from "#domain/normalize/xml/Element.ts"

const feedRoots = new Set(["rss", "rdf", "feed", "channel", "entry"])
/** Depth at which a feed may stand inside a proxy's page or a SOAP envelope. */
const maxWrapperDepth = 12

interface OtherDocument {
  readonly kind: "html" | "xml" | "other"
  readonly reason: string
}

/** Names in most scripts, without the characters of texts in angle brackets. */
const elementName = /^[\p{L}_][\p{L}\p{M}\p{N}._-]*$/u

/**
 * Finds the element of the feed, or the kind of a document without a feed.
 *
 * `mayBeText`: characters precede the first tag, and no XML declaration follows. So the document may be a text with an address in `<>`.
 */
export const findFeedElement = (document: Element, mayBeText: boolean): Element | OtherDocument => {
  const first = getChildElements(document)[0]
  if (first === undefined) return { kind: "other", reason: "text or binary data without markup" }
  const isElement = elementName.test(first.name)
  // A text may quote a feed.
  const feed = mayBeText && !isElement ? undefined : searchFeed(document, 0)
  if (feed !== undefined) return feed
  if (first.key === "html" || isHtml(document)) return { kind: "html", reason: "an HTML page, not a feed" }
  return mayBeText || !isElement
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

/** Whether an element is a feed. `feed`, `channel` and `entry` also need a feed's namespace or children, because other vocabularies have these names. */
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
