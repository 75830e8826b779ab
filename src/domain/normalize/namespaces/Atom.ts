import type { Link, Text } from "#domain/feed/Entry.ts"
import { buildSource } from "#domain/normalize/BuildModel.ts"
import { Draft, dropUndefined } from "#domain/normalize/Draft.ts"
import {
  type ElementReader,
  enterElement,
  readChildren,
  resolveIn,
  type Vocabulary
} from "#domain/normalize/ElementContext.ts"
import { readDateInto } from "#domain/normalize/FieldReaders.ts"
import { addLink, parseLength, readLink } from "#domain/normalize/Links.ts"
import { addPerson, readPerson } from "#domain/normalize/Persons.ts"
import { getNonEmptyText, readAtomText } from "#domain/normalize/Texts.ts"
import { type Element, getValue } from "#domain/normalize/xml/Element.ts"

/** Atom 1.0 (RFC 4287) and 0.3, in feeds, entries and sources. `atomInRss` adapts these readers to RSS. */
export const atom: Vocabulary = {
  id: (element, draft) => {
    draft.id ??= getNonEmptyText(element)
  },
  title: readTextInto("title"),
  subtitle: readTextInto("subtitle"),
  tagline: readTextInto("subtitle"),
  summary: readTextInto("summary"),
  rights: readTextInto("rights"),
  copyright: readTextInto("rights"),
  info: readTextInto("info"),
  content: (element, draft, context) => {
    const text = readAtomText(element, context)
    const src = text.src === undefined ? text : { ...text, src: resolveIn(element, context, text.src) }
    if (src.value !== "" || src.src !== undefined) (draft.content ??= []).push(src)
  },
  updated: readDateInto("updated"),
  modified: readDateInto("updated"),
  published: readDateInto("published"),
  issued: readDateInto("published"),
  created: readDateInto("created"),
  link: (element, draft, context) => {
    const link = readLink(element, context)
    addLink(draft, draft.kind === "feed" && link.rel === "self" ? { type: "application/atom+xml", ...link } : link)
    if (link.rel === "replies") addReplies(element, draft, link)
  },
  author: (element, draft, context) => {
    draft.authors = addPerson(draft.authors, readPerson(element, context))
  },
  contributor: (element, draft, context) => {
    draft.contributors = addPerson(draft.contributors, readPerson(element, context))
  },
  category: readAtomCategory,
  generator: (element, draft, context) => {
    const uri = getValue(element, "uri") ?? getValue(element, "url")
    draft.generator ??= dropUndefined({
      name: getNonEmptyText(element),
      uri: uri === undefined ? undefined : resolveIn(element, context, uri),
      version: getValue(element, "version")
    })
  },
  icon: readAddressInto("icon"),
  logo: readAddressInto("logo"),
  source: (element, draft, outer) => {
    if (draft.kind !== "entry") return
    const context = enterElement(element, outer)
    const source = new Draft("source")
    readChildren(element, source, context)
    draft.source ??= buildSource(source, context)
  }
}

function readTextInto(field: "title" | "subtitle" | "summary" | "rights" | "info"): ElementReader {
  return (element, draft, context) => {
    const text: Text = readAtomText(element, context)
    if (draft[field] === undefined && text.value !== "") draft[field] = text
  }
}

function readAddressInto(field: "icon" | "logo"): ElementReader {
  return (element, draft, context) => {
    const address = getNonEmptyText(element)
    if (address !== undefined) draft[field] ??= resolveIn(element, context, address)
  }
}

function readAtomCategory(element: Element, draft: Draft): void {
  const term = getValue(element, "term") ?? getNonEmptyText(element)
  const label = getValue(element, "label")
  const scheme = getValue(element, "scheme") ?? getValue(element, "domain")
  if ((term ?? label ?? scheme) !== undefined) {
    ;(draft.categories ??= []).push({ term: term ?? label ?? "", ...dropUndefined({ scheme, label }) })
  }
}

/** Adds a `replies` link (RFC 4685): a page or feed of replies, and their number. */
const addReplies = (element: Element, draft: Draft, { href, type }: Link): void => {
  if (type !== undefined && /^application\/(?:atom|rss|rdf)\+xml/.test(type)) draft.commentsFeed ??= href
  else draft.comments ??= href
  draft.commentCount ??= parseLength(getValue(element, "count"))
}
