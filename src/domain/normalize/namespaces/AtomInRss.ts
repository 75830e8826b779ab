import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { addLink, linkOf } from "#domain/normalize/Links.ts"
import { atomText, words } from "#domain/normalize/Texts.ts"
import { atom } from "./Atom.ts"

/** Atom's elements as guests in RSS: where RSS has an element of its own for the same thing, Atom's only stands in for it. */
export const atomInRss: Vocabulary = {
  ...atom,
  id: (element, draft) => {
    draft.other.id ??= words(element)
  },
  title: (element, draft, context) => {
    draft.other.title ??= atomText(element, context)
  },
  summary: (element, draft, context) => {
    draft.other.description ??= atomText(element, context)
  },
  subtitle: (element, draft, context) => {
    draft.other.description ??= atomText(element, context)
  },
  link: (element, draft, context) => {
    const link = linkOf(element, context)
    if (link.href === "") return
    if (link.rel === "alternate") (draft.other.links ??= []).push(link)
    else addLink(draft, link)
  }
}
