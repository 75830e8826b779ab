import type { Link } from "#domain/feed/Entry.ts"
import type { Context } from "./ElementContext.ts"
import { within } from "./ElementContext.ts"
import { defined } from "./Draft.ts"
import type { Draft } from "./Draft.ts"
import { attribute, trimmed, value } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"
import { resolve } from "./Urls.ts"

/** The long form that RFC 4287 allows for registered relations. */
const IANA = /^https?:\/\/www\.iana\.org\/assignments\/(?:link-relations\/|relation\/)/

/** An Atom link; the address may be the element's text, as in RSS. `href` is empty when there is none. */
export const linkOf = (element: Element, around: Context): Link => {
  const context = within(element, around)
  return {
    href: hrefOf(element, context),
    rel: (value(element, "rel") ?? "alternate").replace(IANA, ""),
    ...defined({
      type: value(element, "type"),
      title: value(element, "title"),
      hreflang: value(element, "hreflang"),
      length: lengthOf(value(element, "length"))
    })
  }
}

/** An empty reference is the document itself (RFC 3986), which makes sense where the publisher says what that is. */
const hrefOf = (element: Element, { base, declared }: Context): string => {
  const written = value(element, "href") ?? trimmed(element)
  return written === "" && declared && attribute(element, "href") !== undefined ? base : resolve(base, written)
}

/** Bytes; `undefined` for what is no number of them. */
export const lengthOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

const MOST = 500

/** Of equal links only the first is kept, and one without an address only if it says something else. */
export const addLink = (draft: Draft, link: Link): void => {
  const links = draft.links ??= []
  if (links.length >= MOST || link.href === "" && isBare(link)) return
  if (!links.some(({ href, rel, type }) => href === link.href && rel === link.rel && type === link.type)) {
    links.push(link)
  }
}

const isBare = ({ rel, type, title, hreflang, length }: Link): boolean =>
  rel === "alternate" && (type ?? title ?? hreflang ?? length) === undefined

export const addAddress = (draft: Draft, rel: string, href: string): void => addLink(draft, { href, rel })
