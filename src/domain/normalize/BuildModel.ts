import type { ActivityObject, Category, Link, Media, Source } from "#domain/feed/Entry.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { ElementContext } from "./ElementContext.ts"
import { type Draft, dropEmptyList, dropUndefined } from "./Draft.ts"
import { addPerson, parsePerson } from "./Persons.ts"

const maxCategories = 500

/** A writable `T`. */
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** Builds the entry of a draft. The id is the publisher's, or absent. One assignment per field is fastest, and entries are many. */
export const buildEntry = (draft: Draft): RawEntry => {
  applyFallbacks(draft)
  draft.published ??= draft.fallbacks.date
  applySummary(draft)
  draft.summary ??= draft.fallbacks.description ?? getItunesText(draft) ?? getMediaText(draft)
  const entry: Mutable<RawEntry> = {}
  if (draft.id !== undefined) entry.id = draft.id
  if (draft.idIsPermalink !== undefined) entry.idIsPermalink = draft.idIsPermalink
  if (draft.title !== undefined) entry.title = draft.title
  if (draft.summary !== undefined) entry.summary = draft.summary
  if (draft.content !== undefined) entry.content = draft.content
  if (draft.links !== undefined) entry.links = draft.links
  if (draft.published !== undefined) entry.published = draft.published
  if (draft.updated !== undefined) entry.updated = draft.updated
  if (draft.created !== undefined) entry.created = draft.created
  if (draft.expired !== undefined) entry.expired = draft.expired
  if (draft.authors !== undefined) entry.authors = draft.authors
  if (draft.contributors !== undefined) entry.contributors = draft.contributors
  if (draft.publisher !== undefined) entry.publisher = draft.publisher
  if (draft.categories !== undefined) entry.categories = draft.categories
  if (draft.language !== undefined) entry.language = draft.language
  if (draft.rights !== undefined) entry.rights = draft.rights
  if (draft.comments !== undefined) entry.comments = draft.comments
  if (draft.commentsFeed !== undefined) entry.commentsFeed = draft.commentsFeed
  if (draft.commentCount !== undefined) entry.commentCount = draft.commentCount
  if (draft.inReplyTo !== undefined) entry.inReplyTo = draft.inReplyTo
  if (draft.originalLink !== undefined) entry.originalLink = draft.originalLink
  if (draft.source !== undefined) entry.source = draft.source
  if (draft.points !== undefined) entry.points = draft.points
  if (draft.shape !== undefined) entry.shape = draft.shape
  const media = buildMedia(draft)
  if (media !== undefined) entry.media = media
  if (draft.image !== undefined) entry.image = draft.image
  if (draft.license !== undefined) entry.license = draft.license
  if (draft.itunes !== undefined) entry.itunes = dropUndefined(draft.itunes)
  if (draft.extensions !== undefined) entry.extensions = draft.extensions
  if (draft.verbs !== undefined) entry.verbs = draft.verbs
  if (draft.objects !== undefined) entry.objects = draft.objects
  return entry
}

/** If RSS has a summary and a description, the description becomes content. */
const applySummary = (draft: Draft): void => {
  const { summary } = draft.fallbacks
  if (summary === undefined) return
  if (draft.summary !== undefined) draft.content = [...draft.content ?? [], draft.summary]
  draft.summary = summary
}

export const buildHeader = (draft: Draft): FeedHeader => {
  applyFallbacks(draft)
  draft.updated ??= draft.fallbacks.date
  draft.subtitle ??= draft.fallbacks.description ?? getItunesText(draft)
  return dropUndefined({
    id: draft.id,
    title: draft.title,
    subtitle: draft.subtitle,
    links: draft.links,
    updated: draft.updated,
    published: draft.published,
    created: draft.created,
    language: draft.language,
    rights: draft.rights,
    info: draft.info,
    authors: draft.authors,
    contributors: draft.contributors,
    publisher: draft.publisher,
    categories: draft.categories,
    generator: draft.generator,
    image: draft.image,
    icon: draft.icon,
    logo: draft.logo,
    docs: draft.docs,
    license: draft.license,
    cloud: draft.cloud,
    textInput: draft.textInput,
    rating: draft.rating,
    points: draft.points,
    shape: draft.shape,
    media: buildMedia(draft),
    itunes: draft.itunes === undefined ? undefined : dropUndefined(draft.itunes),
    hints: draft.hints === undefined ? undefined : dropUndefined(draft.hints),
    extensions: draft.extensions
  })
}

/** Builds the source of a draft; `undefined` for an empty source. */
export const buildSource = (draft: Draft, { language }: ElementContext): Source | undefined => {
  applyFallbacks(draft)
  const source = dropUndefined({
    id: draft.id,
    language: draft.language ?? language,
    title: draft.title,
    subtitle: draft.subtitle ?? draft.fallbacks.description,
    updated: draft.updated ?? draft.fallbacks.date,
    rights: draft.rights,
    links: draft.links,
    authors: draft.authors,
    contributors: draft.contributors,
    categories: draft.categories,
    icon: draft.icon,
    logo: draft.logo,
    generator: draft.generator
  })
  return Object.keys(source).some((key) => key !== "language") ? source : undefined
}

export const buildObject = (draft: Draft): ActivityObject => {
  applyFallbacks(draft)
  return dropUndefined({
    objectTypes: draft.objectTypes,
    id: draft.id,
    title: draft.title?.value,
    published: draft.published ?? draft.fallbacks.date,
    updated: draft.updated,
    content: draft.content?.[0],
    summary: draft.summary,
    authors: draft.authors,
    categories: draft.categories,
    links: draft.links
  })
}

/** Fills absent fields from the fallbacks, and drops empty lists. */
const applyFallbacks = (draft: Draft): void => {
  const { fallbacks } = draft
  draft.id ??= fallbacks.id
  draft.title ??= fallbacks.title
  applyImage(draft)
  draft.publisher ??= fallbacks.publisher
  draft.license ??= fallbacks.license
  applyAuthors(draft)
  if (fallbacks.categories !== undefined) draft.categories = [...draft.categories ?? [], ...fallbacks.categories]
  if (draft.categories !== undefined && draft.categories.length > 1) {
    draft.categories = dropRepeatedCategories(draft.categories).slice(0, maxCategories)
  }
  applyLinks(draft)
  draft.points = dropEmptyList(draft.points)
  draft.verbs = dropEmptyList(draft.verbs)
  draft.objectTypes = dropEmptyList(draft.objectTypes)
}

/** Drops categories that were given before. A bare term adds nothing to the same term with a label. */
const dropRepeatedCategories = (categories: ReadonlyArray<Category>): Array<Category> => {
  const labels = new Map<string, Array<string | undefined>>()
  const isNew = ({ scheme, term, label }: Category): boolean => {
    const key = `${scheme ?? ""} ${term}`
    const known = labels.get(key)
    if (known === undefined) labels.set(key, [label])
    else if (label === undefined || known.includes(label)) return false
    else known.push(label)
    return true
  }
  return categories.filter(isNew)
}

const applyImage = (draft: Draft): void => {
  const { image, picture, resource, thumbnail } = draft.fallbacks
  if (draft.image?.url !== undefined) return
  const url = resource ?? image?.url ?? picture ?? (draft.kind === "entry" ? thumbnail : undefined)
  if (url !== undefined) draft.image = { ...draft.image, url }
}

/** Uses the iTunes author if no author has a name. */
const applyAuthors = (draft: Draft): void => {
  const author = draft.fallbacks.author === undefined ? undefined : parsePerson(draft.fallbacks.author)
  if (author !== undefined && !draft.authors?.some(({ name }) => name !== undefined)) {
    draft.authors = [author, ...draft.authors ?? []]
  }
  if (draft.authors === undefined && draft.fallbacks.webmaster !== undefined) {
    draft.authors = [draft.fallbacks.webmaster]
  }
  draft.contributors = addPerson(draft.contributors, draft.fallbacks.contributor)
}

const applyLinks = (draft: Draft): void => {
  const [other] = draft.fallbacks.links ?? []
  if (other !== undefined && !draft.links?.some(isAlternate)) draft.links = [other, ...draft.links ?? []]
  applyEnclosure(draft)
  draft.links = dropEmptyList(draft.links)
}

const applyEnclosure = ({ links, fallbacks }: Draft): void => {
  if (fallbacks.enclosure === undefined) return
  const at = links?.findIndex(({ rel }) => rel === "enclosure") ?? -1
  const enclosure = links?.[at]
  if (links !== undefined && enclosure !== undefined) links[at] = { ...enclosure, href: fallbacks.enclosure }
}

const isAlternate = ({ rel }: Link): boolean => rel === "alternate"

const buildMedia = ({ media }: Draft): Media | undefined => {
  if (media === undefined) return undefined
  const found = dropUndefined({
    ...media,
    thumbnails: dropEmptyList(media.thumbnails),
    contents: dropEmptyList(media.contents),
    credits: dropEmptyList(media.credits)
  })
  return Object.keys(found).length === 0 ? undefined : found
}

/** The description of the media, for an entry without another text. Videos of YouTube have no other. */
const getMediaText = ({ content, fallbacks }: Draft): Draft["summary"] =>
  content === undefined ? fallbacks.mediaDescription : undefined

/** The summary of iTunes, unless it repeats the content. */
const getItunesText = ({ content, itunes }: Draft): Draft["summary"] => {
  const text = itunes?.summary ?? itunes?.subtitle
  return text === undefined || content?.some(({ value }) => value === text) ? undefined : { value: text, type: "html" }
}
