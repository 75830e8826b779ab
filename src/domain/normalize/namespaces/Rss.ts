import type { Image, Source } from "#domain/feed/Entry.ts"
import { type Context, readChildren, type Reader, type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { defined, Draft } from "#domain/normalize/Draft.ts"
import { sourceOf } from "#domain/normalize/BuildModel.ts"
import { addLink, lengthOf, linkOf } from "#domain/normalize/Links.ts"
import { addPerson, personIn, personOf } from "#domain/normalize/Persons.ts"
import { plainText, words } from "#domain/normalize/Texts.ts"
import { attribute, type Element, elements, find, hasElements, textOf, trimmed, value } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** Hours, days and attributes that are looked at. */
const MOST = 50

/** What RSS 0.9x, 1.0 and 2.0 say of channels and items alike. */
const common: Vocabulary = {
  title: (element, draft, context) => {
    const title = plainText(element, context, "text")
    if (draft.title === undefined && title.value !== "") draft.title = title
  },
  link: (element, draft, context) => {
    if (value(element, "href") !== undefined || value(element, "rel") !== undefined) {
      addLink(draft, linkOf(element, context))
    } else addLink(draft, { href: addressOf(element, context), rel: "alternate" })
  },
  author: (element, draft, context) => {
    draft.authors = addPerson(draft.authors, personIn(element, context))
  },
  category: (element, draft) => {
    const term = value(element, "term") ?? words(element)
    const scheme = value(element, "domain") ?? value(element, "scheme")
    if (term !== undefined) {
      ;(draft.categories ??= []).push({ term, ...defined({ scheme, label: value(element, "label") }) })
    }
  },
  pubdate: dateInto("published"),
  language: (element, draft) => {
    draft.language = words(element) ?? draft.language
  },
  image: (element, draft, context) => {
    draft.image = { ...imageOf(element, context), ...draft.image }
  }
}

export const rssChannel: Vocabulary = {
  ...common,
  description: textInto("subtitle", "html"),
  abstract: textInto("subtitle", "html"),
  copyright: textInto("rights", "text"),
  managingeditor: (element, draft, context) => {
    draft.authors = addPerson(draft.authors, personIn(element, context))
  },
  webmaster: (element, draft) => {
    const person = personOf(textOf(element))
    draft.publisher ??= person
    draft.other.webmaster ??= person
  },
  lastbuilddate: dateInto("updated"),
  generator: (element, draft) => {
    const name = words(element)
    if (name !== undefined) {
      draft.generator ??= { name, ...defined({ uri: value(element, "uri"), version: value(element, "version") }) }
    }
  },
  docs: (element, draft, context) => {
    draft.docs ??= addressOf(element, context)
  },
  rating: (element, draft) => {
    draft.rating ??= words(element)
  },
  cloud: (element, draft) => {
    draft.cloud ??= attributesOf(element)
  },
  textinput: (element, draft, context) => {
    const fields = textInputOf(element, context)
    if (Object.keys(fields).length > 0) draft.textInput ??= fields
  },
  ttl: (element, draft) => {
    const minutes = Number.parseFloat(trimmed(element))
    if (minutes >= 0) (draft.hints ??= {}).ttl ??= minutes
  },
  skiphours: (element, draft) => {
    const hours = elements(element).slice(0, MOST).map((hour) => Number(trimmed(hour)) % 24).filter((hour) =>
      Number.isInteger(hour) && hour >= 0
    )
    if (hours.length > 0) (draft.hints ??= {}).skipHours ??= [...new Set(hours)]
  },
  skipdays: (element, draft) => {
    const days = elements(element).slice(0, MOST).map(trimmed).filter((day) => /^[A-Z][a-z]+day$/.test(day))
    if (days.length > 0) (draft.hints ??= {}).skipDays ??= [...new Set(days)]
  }
}

export const rssItem: Vocabulary = {
  ...common,
  description: textInto("summary", "html"),
  abstract: textInto("summary", "html"),
  summary: (element, draft, context) => {
    const text = plainText(element, context, "html")
    if (text.value !== "") draft.other.summary ??= text
  },
  content: contentInto,
  body: contentInto,
  fullitem: contentInto,
  encoded: contentInto,
  guid: (element, draft) => {
    const id = words(element)
    if (id === undefined || draft.id !== undefined) return
    draft.id = id
    draft.idIsPermalink = value(element, "ispermalink")?.toLowerCase() !== "false"
  },
  comments: (element, draft, context) => {
    draft.comments ??= addressOf(element, context)
  },
  enclosure: (element, draft, context) => {
    const href = value(element, "url") ?? value(element, "href") ?? words(find(element, "url") ?? element)
    if (href === undefined) return
    const url = resolve(within(element, context).base, href)
    const type = value(element, "type")
    addLink(draft, { href: url, rel: "enclosure", ...defined({ type, length: lengthOf(value(element, "length")) }) })
    if (type?.startsWith("image/") === true) draft.other.image ??= { url }
  },
  expirationdate: dateInto("expired"),
  source: (element, draft, context) => {
    draft.source ??= sourceIn(element, context)
  }
}

function textInto(field: "subtitle" | "summary" | "rights", expected: "text" | "html"): Reader {
  return (element, draft, context) => {
    const text = plainText(element, context, expected)
    if (draft[field] === undefined && text.value !== "") draft[field] = text
  }
}

function dateInto(field: "published" | "updated" | "expired"): Reader {
  return (element, draft) => {
    draft[field] = parseDate(textOf(element)) ?? draft[field]
  }
}

function contentInto(element: Element, draft: Draft, context: Context): void {
  const content = plainText(element, context, "html")
  if (content.value !== "") (draft.content ??= []).push(content)
}

const addressOf = (element: Element, context: Context): string =>
  resolve(within(element, context).base, trimmed(element))

/** RSS 2.0 gives title and URL; some aggregators put a whole Atom source there. */
const sourceIn = (element: Element, around: Context): Source | undefined => {
  const context = within(element, around)
  const draft = new Draft("source")
  if (hasElements(element)) readChildren(element, draft, context)
  else {
    const title = words(element)
    const url = value(element, "url")
    if (title !== undefined) draft.title = { value: title, type: "text" }
    if (url !== undefined) addLink(draft, { href: resolve(context.base, url), rel: "self" })
  }
  return sourceOf(draft, context)
}

/** An image in any of RSS's ways: children, text, an attribute. */
const imageOf = (element: Element, around: Context): Image => {
  const context = within(element, around)
  const url = partOf(element, "url") ?? value(element, "href") ?? value(element, "url") ??
    attribute(element, "resource")
    ?? (hasElements(element) ? undefined : words(element))
  const link = partOf(element, "link")
  return defined({
    url: url === undefined ? undefined : resolve(context.base, url),
    title: partOf(element, "title"),
    link: link === undefined ? undefined : resolve(context.base, link),
    width: sizeOf(partOf(element, "width")),
    height: sizeOf(partOf(element, "height")),
    description: partOf(element, "description")
  })
}

const partOf = (element: Element, key: string): string | undefined => {
  const part = find(element, key)
  return part === undefined ? undefined : words(part)
}

/** Pixels. */
export const sizeOf = (text: string | undefined): number | undefined => {
  const size = text === undefined ? Number.NaN : Number.parseInt(text, 10)
  return size >= 0 ? size : undefined
}

const textInputOf = (element: Element, context: Context): { [name: string]: string } => {
  const fields: { [name: string]: string } = {}
  for (const key of ["title", "description", "name", "link"]) {
    const field = find(element, key)
    if (field !== undefined) fields[key] = plainText(field, context, "text").value
  }
  return fields
}

const attributesOf = (element: Element): { [name: string]: string } => {
  const fields: { [name: string]: string } = {}
  for (let at = 0; at < Math.min(element.attributes.length, 2 * MOST); at += 2) {
    fields[(element.attributes[at] ?? "").toLowerCase()] ??= element.attributes[at + 1] ?? ""
  }
  return fields
}
