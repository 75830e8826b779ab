import type { Link, Text } from "#domain/feed/Entry.ts"
import { type Context, readChildren, type Reader, type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { defined, Draft } from "#domain/normalize/Draft.ts"
import { sourceOf } from "#domain/normalize/BuildModel.ts"
import { addLink, lengthOf, linkOf } from "#domain/normalize/Links.ts"
import { addPerson, personIn } from "#domain/normalize/Persons.ts"
import { atomText, words } from "#domain/normalize/Texts.ts"
import { type Element, textOf, value } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** Atom 1.0 (RFC 4287) and 0.3, in feeds, entries and sources, and as guests in RSS. */
export const atom: Vocabulary = {
  id: (element, draft) => {
    draft.id ??= words(element)
  },
  title: textInto("title"),
  subtitle: textInto("subtitle"),
  tagline: textInto("subtitle"),
  summary: textInto("summary"),
  rights: textInto("rights"),
  copyright: textInto("rights"),
  info: textInto("info"),
  content: (element, draft, context) => {
    const text = atomText(element, context)
    const src = text.src === undefined ? text : { ...text, src: resolve(within(element, context).base, text.src) }
    if (src.value !== "" || src.src !== undefined) (draft.content ??= []).push(src)
  },
  updated: dateInto("updated"),
  modified: dateInto("updated"),
  published: dateInto("published"),
  issued: dateInto("published"),
  created: dateInto("created"),
  link: (element, draft, context) => {
    const link = linkOf(element, context)
    addLink(draft, link)
    if (link.rel === "replies") addReplies(element, draft, link)
  },
  author: (element, draft, context) => {
    draft.authors = addPerson(draft.authors, personIn(element, context))
  },
  contributor: (element, draft, context) => {
    draft.contributors = addPerson(draft.contributors, personIn(element, context))
  },
  category,
  generator: (element, draft, context) => {
    const uri = value(element, "uri") ?? value(element, "url")
    draft.generator ??= defined({
      name: words(element),
      uri: uri === undefined ? undefined : resolve(within(element, context).base, uri),
      version: value(element, "version")
    })
  },
  icon: addressInto("icon"),
  logo: addressInto("logo"),
  source: (element, draft, around) => {
    if (draft.kind !== "entry") return
    const context = within(element, around)
    const source = new Draft("source")
    readChildren(element, source, context)
    draft.source ??= sourceOf(source, context)
  }
}

function textInto(field: "title" | "subtitle" | "summary" | "rights" | "info"): Reader {
  return (element, draft, context) => {
    const text: Text = atomText(element, context)
    if (draft[field] === undefined && text.value !== "") draft[field] = text
  }
}

function dateInto(field: "updated" | "published" | "created"): Reader {
  return (element, draft) => {
    draft[field] = parseDate(textOf(element)) ?? draft[field]
  }
}

function addressInto(field: "icon" | "logo"): Reader {
  return (element, draft, context) => {
    const address = words(element)
    if (address !== undefined) draft[field] ??= resolve(within(element, context).base, address)
  }
}

function category(element: Element, draft: Draft, _context: Context): void {
  const term = value(element, "term") ?? words(element)
  const label = value(element, "label")
  const scheme = value(element, "scheme") ?? value(element, "domain")
  if (term !== undefined || label !== undefined) {
    ;(draft.categories ??= []).push({ term: term ?? label ?? "", ...defined({ scheme, label }) })
  }
}

/** RFC 4685: the replies to an entry as a page or as a feed, and how many there are. */
const addReplies = (element: Element, draft: Draft, { href, type }: Link): void => {
  if (type !== undefined && /^application\/(?:atom|rss|rdf)\+xml/.test(type)) draft.commentsFeed ??= href
  else draft.comments ??= href
  draft.commentCount ??= lengthOf(value(element, "count"))
}
