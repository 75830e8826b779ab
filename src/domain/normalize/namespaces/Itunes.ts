import type { Reader, Vocabulary } from "#domain/normalize/ElementContext.ts"
import { within } from "#domain/normalize/ElementContext.ts"
import type { Draft } from "#domain/normalize/Draft.ts"
import { addPerson, personIn, personOf } from "#domain/normalize/Persons.ts"
import { words } from "#domain/normalize/Texts.ts"
import { type Element, elements, textOf, trimmed, value } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** The scheme under which iTunes' categories and keywords stand among the entry's categories. */
const SCHEME = "http://www.itunes.com/"
const MOST = 200

/** Apple's podcast tags. They complete what the dialect's own elements do not say. */
export const itunes: Vocabulary = {
  author: (element, draft) => {
    const author = words(element)
    itunesOf(draft).author ??= author
    draft.other.author ??= author
  },
  owner: (element, draft, context) => {
    const owner = personIn(element, context)
    itunesOf(draft).owner ??= owner
    draft.other.publisher ??= owner
    // Atom has no publisher: who stands behind a feed without being its author is a contributor there.
    if (draft.kind === "feed") draft.other.contributor ??= owner
  },
  image: setImage,
  explicit: (element, draft) => {
    itunesOf(draft).explicit ??= truth(element)
  },
  /** Apple takes nothing but `Yes`: all else leaves the podcast listed. */
  block: (element, draft) => {
    itunesOf(draft).block ??= /^[Yy]es$/.test(textOf(element))
  },
  /** What an image was before `itunes:image` existed. */
  link: (element, draft, context) => {
    if (value(element, "rel") === "image") setImage(element, draft, context)
  },
  complete: (element, draft) => {
    itunesOf(draft).complete ??= trimmed(element).toLowerCase() === "yes"
  },
  keywords: (element, draft) => {
    const keywords = trimmed(element).split(",").map((word) => word.trim()).filter((word) => word !== "").slice(0, MOST)
    if (keywords.length > 0) itunesOf(draft).keywords ??= keywords
    for (const term of keywords) addCategory(draft, term)
  },
  category,
  duration: textInto("duration"),
  episode: textInto("episode"),
  episodetype: textInto("episodeType"),
  order: textInto("order"),
  season: textInto("season"),
  subtitle: textInto("subtitle"),
  summary: textInto("summary"),
  title: textInto("title"),
  type: textInto("type"),
  isclosedcaptioned: textInto("closedCaptioned"),
  "new-feed-url": (element, draft, context) => {
    const address = words(element)
    if (address !== undefined) itunesOf(draft).newFeedUrl ??= resolve(within(element, context).base, address)
  },
  contributor: (element, draft) => {
    draft.contributors = addPerson(draft.contributors, personOf(textOf(element)))
  }
}

function setImage(...[element, draft, context]: Parameters<Reader>): void {
  const address = value(element, "href") ?? value(element, "url") ?? words(element)
  if (address === undefined) return
  const url = resolve(within(element, context).base, address)
  itunesOf(draft).image ??= url
  draft.other.image ??= { url }
}

type TextField =
  | "duration"
  | "episode"
  | "episodeType"
  | "order"
  | "season"
  | "subtitle"
  | "summary"
  | "title"
  | "type"
  | "closedCaptioned"

function textInto(field: TextField): Reader {
  return (element, draft) => {
    itunesOf(draft)[field] ??= words(element)
  }
}

/** Categories nest: `<itunes:category text="Society"><itunes:category text="History"/></itunes:category>`. */
function category(...[element, draft, context]: Parameters<Reader>): void {
  const term = value(element, "text") ?? words(element)
  if (term !== undefined) {
    addCategory(draft, term)
    const terms = itunesOf(draft).categories ??= []
    if (terms.length < MOST) terms.push(term)
  }
  for (const child of elements(element)) if (child.key === "category") category(child, draft, context)
}

const addCategory = (draft: Draft, term: string): void => {
  const categories = draft.other.categories ??= []
  if (categories.length < MOST && !categories.some((known) => known.term === term)) {
    categories.push({ term, scheme: SCHEME })
  }
}

const itunesOf = (draft: Draft): NonNullable<Draft["itunes"]> => draft.itunes ??= {}

const truth = (element: Element): boolean | undefined => {
  const word = trimmed(element).toLowerCase()
  return word === "yes" || word === "true" || word === "explicit"
    ? true
    : word === "no" || word === "false" || word === "clean"
    ? false
    : undefined
}
