import type { Image, Source } from "#domain/feed/Entry.ts"
import { buildSource } from "#domain/normalize/BuildModel.ts"
import { Draft, dropUndefined } from "#domain/normalize/Draft.ts"
import {
  type ElementContext,
  type ElementReader,
  enterElement,
  readChildren,
  resolveIn,
  type Vocabulary
} from "#domain/normalize/ElementContext.ts"
import { addContent, readDateInto } from "#domain/normalize/FieldReaders.ts"
import { addLink, parseLength, readLink } from "#domain/normalize/Links.ts"
import { addPerson, parsePerson, readPerson } from "#domain/normalize/Persons.ts"
import { getNonEmptyText, readText } from "#domain/normalize/Texts.ts"
import { resolve } from "#domain/normalize/Urls.ts"
import {
  type Element,
  findChild,
  getAttribute,
  getChildElements,
  getText,
  getTrimmedText,
  getValue,
  hasElements
} from "#domain/normalize/xml/Element.ts"

/** Hours, days or attributes per element. */
const maxListed = 50

/** Elements of channels and items in RSS 0.9x, 1.0 and 2.0. */
const channelAndItem: Vocabulary = {
  title: (element, draft, context) => {
    const title = readText(element, context, "text")
    if (draft.title === undefined && title.value !== "") draft.title = title
  },
  link: (element, draft, context) => {
    if (getValue(element, "href") !== undefined || getValue(element, "rel") !== undefined) {
      addLink(draft, readLink(element, context))
    } else addLink(draft, { href: readAddress(element, context), rel: "alternate" })
  },
  author: (element, draft, context) => {
    draft.authors = addPerson(draft.authors, readPerson(element, context))
  },
  category: (element, draft) => {
    const term = getValue(element, "term") ?? getNonEmptyText(element)
    const scheme = getValue(element, "domain") ?? getValue(element, "scheme")
    if (term !== undefined) {
      ;(draft.categories ??= []).push({ term, ...dropUndefined({ scheme, label: getValue(element, "label") }) })
    }
  },
  pubdate: readDateInto("published"),
  language: (element, draft) => {
    draft.language = getNonEmptyText(element) ?? draft.language
  },
  image: (element, draft, context) => {
    draft.image = { ...readRssImage(element, context), ...draft.image }
    // RSS 1.0: the channel names the image that follows, and some feeds have no other.
    const resource = getAttribute(element, "resource")
    if (resource !== undefined) draft.fallbacks.resource ??= resolveIn(element, context, resource)
  }
}

export const rssChannel: Vocabulary = {
  ...channelAndItem,
  description: readRssTextInto("subtitle", "html"),
  abstract: readRssTextInto("subtitle", "html"),
  copyright: readRssTextInto("rights", "text"),
  managingeditor: (element, draft, context) => {
    draft.authors = addPerson(draft.authors, readPerson(element, context))
  },
  webmaster: (element, draft) => {
    const person = parsePerson(getText(element))
    draft.publisher ??= person
    draft.fallbacks.webmaster ??= person
  },
  lastbuilddate: readDateInto("updated"),
  generator: (element, draft) => {
    const name = getNonEmptyText(element)
    if (name !== undefined) {
      draft.generator ??= {
        name,
        ...dropUndefined({ uri: getValue(element, "uri"), version: getValue(element, "version") })
      }
    }
  },
  docs: (element, draft, context) => {
    draft.docs ??= readAddress(element, context)
  },
  rating: (element, draft) => {
    draft.rating ??= getNonEmptyText(element)
  },
  cloud: (element, draft) => {
    draft.cloud ??= copyAttributes(element)
  },
  textinput: (element, draft, context) => {
    const fields = readTextInput(element, context)
    if (Object.keys(fields).length > 0) draft.textInput ??= fields
  },
  ttl: (element, draft) => {
    const minutes = Number.parseFloat(getTrimmedText(element))
    if (minutes >= 0) (draft.hints ??= {}).ttl ??= minutes
  },
  skiphours: (element, draft) => {
    const hours = getChildElements(element).slice(0, maxListed).map((hour) => Number(getTrimmedText(hour)) % 24).filter(
      (hour) => Number.isInteger(hour) && hour >= 0
    )
    if (hours.length > 0) (draft.hints ??= {}).skipHours ??= [...new Set(hours)]
  },
  skipdays: (element, draft) => {
    const days = getChildElements(element).slice(0, maxListed).map(getTrimmedText).filter((day) =>
      /^[A-Z][a-z]+day$/.test(day)
    )
    if (days.length > 0) (draft.hints ??= {}).skipDays ??= [...new Set(days)]
  }
}

export const rssItem: Vocabulary = {
  ...channelAndItem,
  /** An element of no specification: `<tags>one, two</tags>`. */
  tags: (element, draft) => {
    const terms = getTrimmedText(element).split(",").map((term) => term.trim()).filter((term) => term !== "")
    for (const term of terms.slice(0, maxListed)) (draft.categories ??= []).push({ term })
  },
  description: readRssTextInto("summary", "html"),
  abstract: readRssTextInto("summary", "html"),
  summary: (element, draft, context) => {
    const text = readText(element, context, "html")
    if (text.value !== "") draft.fallbacks.summary ??= text
  },
  content: addContent,
  body: addContent,
  fullitem: addContent,
  encoded: addContent,
  guid: (element, draft) => {
    const id = getNonEmptyText(element)
    if (id === undefined || draft.id !== undefined) return
    draft.id = id
    draft.idIsPermalink = getValue(element, "ispermalink")?.toLowerCase() !== "false"
  },
  comments: (element, draft, context) => {
    draft.comments ??= readAddress(element, context)
  },
  enclosure: (element, draft, context) => {
    const href = getValue(element, "url") ?? getValue(element, "href") ??
      getNonEmptyText(findChild(element, "url") ?? element)
    if (href === undefined) return
    const url = resolveIn(element, context, href)
    const type = getValue(element, "type")
    addLink(draft, {
      href: url,
      rel: "enclosure",
      ...dropUndefined({ type, length: parseLength(getValue(element, "length")) })
    })
    if (type?.startsWith("image/") === true) draft.fallbacks.image ??= { url }
  },
  expirationdate: readDateInto("expired"),
  source: (element, draft, context) => {
    draft.source ??= readRssSource(element, context)
  }
}

function readRssTextInto(field: "subtitle" | "summary" | "rights", expected: "text" | "html"): ElementReader {
  return (element, draft, context) => {
    const text = readText(element, context, expected)
    if (draft[field] === undefined && text.value !== "") draft[field] = text
  }
}

const readAddress = (element: Element, context: ElementContext): string =>
  resolve(enterElement(element, context).base, getTrimmedText(element))

/** Reads a source: title and URL in RSS 2.0, or a whole Atom source of an aggregator. */
const readRssSource = (element: Element, outer: ElementContext): Source | undefined => {
  const context = enterElement(element, outer)
  const draft = new Draft("source")
  if (hasElements(element)) readChildren(element, draft, context)
  else {
    const title = getNonEmptyText(element)
    const url = getValue(element, "url")
    if (title !== undefined) draft.title = { value: title, type: "text" }
    if (url !== undefined) addLink(draft, { href: resolve(context.base, url), rel: "self" })
  }
  return buildSource(draft, context)
}

/** Reads an image from children, text or an attribute. */
const readRssImage = (element: Element, outer: ElementContext): Image => {
  const context = enterElement(element, outer)
  const url = getChildText(element, "url") ?? getValue(element, "href") ?? getValue(element, "url") ??
    getValue(element, "src") ?? getValue(findChild(element, "img") ?? element, "src") ??
    (hasElements(element) ? undefined : getNonEmptyText(element))
  const link = getChildText(element, "link")
  return dropUndefined({
    url: url === undefined ? undefined : resolve(context.base, url),
    title: getChildText(element, "title"),
    link: link === undefined ? undefined : resolve(context.base, link),
    width: parseSize(getChildText(element, "width")),
    height: parseSize(getChildText(element, "height")),
    description: getChildText(element, "description")
  })
}

const getChildText = (element: Element, key: string): string | undefined => {
  const part = findChild(element, key)
  return part === undefined ? undefined : getNonEmptyText(part)
}

/** Parses a number of pixels or bytes. */
export const parseSize = (text: string | undefined): number | undefined => {
  const size = text === undefined ? Number.NaN : Number.parseInt(text, 10)
  return size >= 0 ? size : undefined
}

const readTextInput = (element: Element, context: ElementContext): { [name: string]: string } => {
  const fields: { [name: string]: string } = {}
  for (const key of ["title", "description", "name", "link"]) {
    const field = findChild(element, key)
    if (field !== undefined) fields[key] = readText(field, context, "text").value
  }
  return fields
}

const copyAttributes = (element: Element): { [name: string]: string } => {
  const fields: { [name: string]: string } = {}
  for (let at = 0; at < Math.min(element.attributes.length, 2 * maxListed); at += 2) {
    fields[(element.attributes[at] ?? "").toLowerCase()] ??= element.attributes[at + 1] ?? ""
  }
  return fields
}
