import type { Draft } from "#domain/normalize/Draft.ts"
import { type ElementReader, resolveIn } from "#domain/normalize/ElementContext.ts"
import { addPerson, parsePerson, readPerson } from "#domain/normalize/Persons.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import { type Element, getChildElements, getText, getTrimmedText, getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** Scheme of iTunes categories and keywords among the categories of an entry. */
const itunesScheme = "http://www.itunes.com/"
const maxTerms = 200

/** Apple's podcast tags. Elements of the dialect itself take precedence. */
export const itunes: Namespace = {
  key: "itunes",
  uris: [
    "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "http://www.itunes.com/dtds/podcast",
    "http://example.com/dtds/podcast-1.0.dtd"
  ],
  vocabulary: {
    author: (element, draft) => {
      const author = getNonEmptyText(element)
      getItunes(draft).author ??= author
      draft.fallbacks.author ??= author
    },
    owner: (element, draft, context) => {
      const owner = readPerson(element, context)
      getItunes(draft).owner ??= owner
      draft.fallbacks.publisher ??= owner
      // Atom has no publisher, so the owner of a feed becomes a contributor.
      if (draft.kind === "feed") draft.fallbacks.contributor ??= owner
    },
    image: readImage,
    explicit: (element, draft) => {
      getItunes(draft).explicit ??= parseBoolean(element)
    },
    /** Apple only accepts `Yes`. Other values leave the podcast listed. */
    block: (element, draft) => {
      getItunes(draft).block ??= /^[Yy]es$/.test(getText(element))
    },
    /** The image element before `itunes:image` existed. */
    link: (element, draft, context) => {
      if (getValue(element, "rel") === "image") readImage(element, draft, context)
    },
    complete: (element, draft) => {
      getItunes(draft).complete ??= getTrimmedText(element).toLowerCase() === "yes"
    },
    keywords: (element, draft) => {
      const keywords = getTrimmedText(element).split(",").map((word) => word.trim()).filter((word) => word !== "")
        .slice(
          0,
          maxTerms
        )
      if (keywords.length > 0) getItunes(draft).keywords ??= keywords
      for (const term of keywords) addTerm(draft, term)
    },
    category: readItunesCategory,
    duration: readFieldInto("duration"),
    episode: readFieldInto("episode"),
    episodetype: readFieldInto("episodeType"),
    order: readFieldInto("order"),
    season: readFieldInto("season"),
    subtitle: readFieldInto("subtitle"),
    summary: readFieldInto("summary"),
    title: readFieldInto("title"),
    type: readFieldInto("type"),
    isclosedcaptioned: readFieldInto("closedCaptioned"),
    "new-feed-url": (element, draft, context) => {
      const address = getNonEmptyText(element)
      if (address !== undefined) getItunes(draft).newFeedUrl ??= resolveIn(element, context, address)
    },
    contributor: (element, draft) => {
      draft.contributors = addPerson(draft.contributors, parsePerson(getText(element)))
    }
  }
}

function readImage(...[element, draft, context]: Parameters<ElementReader>): void {
  const address = getValue(element, "href") ?? getValue(element, "url") ?? getNonEmptyText(element)
  if (address === undefined) return
  const url = resolveIn(element, context, address)
  getItunes(draft).image ??= url
  draft.fallbacks.image ??= { url }
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

function readFieldInto(field: TextField): ElementReader {
  return (element, draft) => {
    getItunes(draft)[field] ??= getNonEmptyText(element)
  }
}

/** Categories nest: `<itunes:category text="Society"><itunes:category text="History"/></itunes:category>`. */
function readItunesCategory(...[element, draft, context]: Parameters<ElementReader>): void {
  const term = getValue(element, "text") ?? getNonEmptyText(element)
  if (term !== undefined) {
    addTerm(draft, term)
    const terms = getItunes(draft).categories ??= []
    if (terms.length < maxTerms) terms.push(term)
  }
  for (const child of getChildElements(element)) if (child.key === "category") readItunesCategory(child, draft, context)
}

const addTerm = (draft: Draft, term: string): void => {
  const categories = draft.fallbacks.categories ??= []
  if (categories.length < maxTerms && !categories.some((known) => known.term === term)) {
    categories.push({ term, scheme: itunesScheme })
  }
}

const getItunes = (draft: Draft): NonNullable<Draft["itunes"]> => draft.itunes ??= {}

const parseBoolean = (element: Element): boolean | undefined => {
  const word = getTrimmedText(element).toLowerCase()
  return word === "yes" || word === "true" || word === "explicit"
    ? true
    : word === "no" || word === "false" || word === "clean"
    ? false
    : undefined
}
