import type { Link } from "#domain/feed/Entry.ts"
import { type ElementContext, enterElement } from "./ElementContext.ts"
import { type Draft, dropUndefined } from "./Draft.ts"
import { type Element, getAttribute, getTrimmedText, getValue } from "#domain/normalize/xml/Element.ts"
import { resolve } from "./Urls.ts"

/** The long form of registered relations in RFC 4287. */
const ianaRelation = /^https?:\/\/www\.iana\.org\/assignments\/(?:link-relations\/|relation\/)/

/** Reads an Atom link. The element's text may be the URL, as in RSS. Without a URL, `href` is empty. */
export const readLink = (element: Element, outer: ElementContext): Link => {
  const context = enterElement(element, outer)
  return {
    href: readHref(element, context),
    rel: readRelation(getValue(element, "rel") ?? "alternate"),
    ...dropUndefined({
      type: getValue(element, "type"),
      title: getValue(element, "title"),
      hreflang: getValue(element, "hreflang"),
      length: parseLength(getValue(element, "length"))
    })
  }
}

/** Names of relations are case-insensitive (RFC 8288, 2.1). A URL is an extension and stays as written. */
const readRelation = (written: string): string => {
  const relation = written.replace(ianaRelation, "")
  return relation.includes(":") ? relation : relation.toLowerCase()
}

/** An empty reference means the document itself (RFC 3986), but only counts if the publisher declares a base. */
const readHref = (element: Element, { base, declared }: ElementContext): string => {
  const written = getValue(element, "href") ?? getTrimmedText(element)
  return written === "" && declared && getAttribute(element, "href") !== undefined ? base : resolve(base, written)
}

/** Parses a number of bytes. */
export const parseLength = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

const maxLinks = 500

/** Adds a link, unless an equal link exists. A link without a URL needs another attribute. */
export const addLink = (draft: Draft, link: Link): void => {
  const links = draft.links ??= []
  if (links.length >= maxLinks || link.href === "" && isBare(link)) return
  if (!links.some(({ href, rel, type }) => href === link.href && rel === link.rel && type === link.type)) {
    links.push(link)
  }
}

const isBare = ({ rel, type, title, hreflang, length }: Link): boolean =>
  rel === "alternate" && (type ?? title ?? hreflang ?? length) === undefined

export const addLinkTo = (draft: Draft, rel: string, href: string): void => addLink(draft, { href, rel })
