import type { Link } from "#domain/Entry.ts"
import type { Context } from "./Context.ts"
import { within } from "./Context.ts"
import { defined } from "./Draft.ts"
import type { Draft } from "./Draft.ts"
import { trimmed, value } from "./Tree.ts"
import type { Element } from "./Tree.ts"
import { resolve } from "./Urls.ts"

/** The long form that RFC 4287 allows for registered relations. */
const IANA = /^https?:\/\/www\.iana\.org\/assignments\/(?:link-relations\/|relation\/)/

/** An Atom link; the address may be the element's text, as in RSS. `href` is empty when there is none. */
export const linkOf = (element: Element, around: Context): Link => {
  const context = within(element, around)
  return {
    href: resolve(context.base, value(element, "href") ?? trimmed(element)),
    rel: (value(element, "rel") ?? "alternate").replace(IANA, ""),
    ...defined({
      type: value(element, "type"),
      title: value(element, "title"),
      hreflang: value(element, "hreflang"),
      length: lengthOf(value(element, "length"))
    })
  }
}

/** Bytes; `undefined` for what is no number of them. */
export const lengthOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

const MOST = 500

/** Links without an address are left out, and of equal ones all but the first. */
export const addLink = (draft: Draft, link: Link): void => {
  const links = draft.links ??= []
  if (link.href === "" || links.length >= MOST) return
  if (!links.some(({ href, rel, type }) => href === link.href && rel === link.rel && type === link.type)) {
    links.push(link)
  }
}

export const addAddress = (draft: Draft, rel: string, href: string): void => addLink(draft, { href, rel })
