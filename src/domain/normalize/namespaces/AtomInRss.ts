import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { addLink, readLink } from "#domain/normalize/Links.ts"
import { getNonEmptyText, readAtomText } from "#domain/normalize/Texts.ts"
import { atom } from "./Atom.ts"

/** Elements of Atom inside RSS. Where RSS has an own element for the same value, Atom's element is the fallback. */
export const atomInRss: Vocabulary = {
  ...atom,
  id: (element, draft) => {
    draft.fallbacks.id ??= getNonEmptyText(element)
  },
  title: (element, draft, context) => {
    draft.fallbacks.title ??= readAtomText(element, context)
  },
  summary: (element, draft, context) => {
    draft.fallbacks.description ??= readAtomText(element, context)
  },
  subtitle: (element, draft, context) => {
    draft.fallbacks.description ??= readAtomText(element, context)
  },
  link: (element, draft, context) => {
    const link = readLink(element, context)
    if (link.href === "") return
    if (link.rel === "alternate") (draft.fallbacks.links ??= []).push(link)
    else addLink(draft, link)
  }
}
