import type { ActivityObject, Link, Media, Source } from "#domain/feed/Entry.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Context } from "./ElementContext.ts"
import { defined } from "./Draft.ts"
import type { Draft } from "./Draft.ts"
import { addPerson, personOf } from "./Persons.ts"

const MOST_CATEGORIES = 500

/** What was found is written, and stays. */
type Found<T> = { -readonly [K in keyof T]: T[K] }

/** The entry that a draft has become. Its id is the publisher's, or absent. One field after the other, since entries are many. */
export const entryOf = (draft: Draft): RawEntry => {
  settle(draft)
  draft.published ??= draft.other.date
  settleSummary(draft)
  draft.summary ??= draft.other.description ?? itunesText(draft)
  const found: Found<RawEntry> = {}
  if (draft.id !== undefined) found.id = draft.id
  if (draft.idIsPermalink !== undefined) found.idIsPermalink = draft.idIsPermalink
  if (draft.title !== undefined) found.title = draft.title
  if (draft.summary !== undefined) found.summary = draft.summary
  if (draft.content !== undefined) found.content = draft.content
  if (draft.links !== undefined) found.links = draft.links
  if (draft.published !== undefined) found.published = draft.published
  if (draft.updated !== undefined) found.updated = draft.updated
  if (draft.created !== undefined) found.created = draft.created
  if (draft.expired !== undefined) found.expired = draft.expired
  if (draft.authors !== undefined) found.authors = draft.authors
  if (draft.contributors !== undefined) found.contributors = draft.contributors
  if (draft.publisher !== undefined) found.publisher = draft.publisher
  if (draft.categories !== undefined) found.categories = draft.categories
  if (draft.language !== undefined) found.language = draft.language
  if (draft.rights !== undefined) found.rights = draft.rights
  if (draft.comments !== undefined) found.comments = draft.comments
  if (draft.commentsFeed !== undefined) found.commentsFeed = draft.commentsFeed
  if (draft.commentCount !== undefined) found.commentCount = draft.commentCount
  if (draft.inReplyTo !== undefined) found.inReplyTo = draft.inReplyTo
  if (draft.originalLink !== undefined) found.originalLink = draft.originalLink
  if (draft.source !== undefined) found.source = draft.source
  if (draft.points !== undefined) found.points = draft.points
  if (draft.shape !== undefined) found.shape = draft.shape
  const media = mediaOf(draft)
  if (media !== undefined) found.media = media
  if (draft.image !== undefined) found.image = draft.image
  if (draft.license !== undefined) found.license = draft.license
  if (draft.itunes !== undefined) found.itunes = defined(draft.itunes)
  if (draft.extensions !== undefined) found.extensions = draft.extensions
  if (draft.verbs !== undefined) found.verbs = draft.verbs
  if (draft.objects !== undefined) found.objects = draft.objects
  return found
}

/** Where RSS has both, the summary is the shorter. */
const settleSummary = (draft: Draft): void => {
  const { summary } = draft.other
  if (summary === undefined) return
  if (draft.summary !== undefined) draft.content = [...draft.content ?? [], draft.summary]
  draft.summary = summary
}

export const headerOf = (draft: Draft): FeedHeader => {
  settle(draft)
  draft.updated ??= draft.other.date
  draft.subtitle ??= draft.other.description ?? itunesText(draft)
  return defined({
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
    media: mediaOf(draft),
    itunes: draft.itunes === undefined ? undefined : defined(draft.itunes),
    hints: draft.hints === undefined ? undefined : defined(draft.hints),
    extensions: draft.extensions
  })
}

/** `undefined` for a source that says nothing. */
export const sourceOf = (draft: Draft, { language }: Context): Source | undefined => {
  settle(draft)
  const source = defined({
    id: draft.id,
    language: draft.language ?? language,
    title: draft.title,
    subtitle: draft.subtitle ?? draft.other.description,
    updated: draft.updated ?? draft.other.date,
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

export const objectOf = (draft: Draft): ActivityObject => {
  settle(draft)
  return defined({
    objectTypes: draft.objectTypes,
    id: draft.id,
    title: draft.title?.value,
    published: draft.published ?? draft.other.date,
    updated: draft.updated,
    content: draft.content?.[0],
    summary: draft.summary,
    authors: draft.authors,
    categories: draft.categories,
    links: draft.links
  })
}

/** Lets the fallbacks of all kinds of drafts take their places, and drops lists that stayed empty. */
const settle = (draft: Draft): void => {
  const { other } = draft
  draft.id ??= other.id
  draft.title ??= other.title
  draft.image ??= other.image
  draft.publisher ??= other.publisher
  draft.license ??= other.license
  settleAuthors(draft)
  if (other.categories !== undefined) draft.categories = [...draft.categories ?? [], ...other.categories]
  if (draft.categories !== undefined && draft.categories.length > MOST_CATEGORIES) {
    draft.categories.length = MOST_CATEGORIES
  }
  settleLinks(draft)
  draft.points = filled(draft.points)
  draft.verbs = filled(draft.verbs)
  draft.objectTypes = filled(draft.objectTypes)
}

/** iTunes' author stands in when nobody else is named, if only by an address. */
const settleAuthors = (draft: Draft): void => {
  const author = draft.other.author === undefined ? undefined : personOf(draft.other.author)
  if (author !== undefined && !draft.authors?.some(({ name }) => name !== undefined)) {
    draft.authors = [author, ...draft.authors ?? []]
  }
  if (draft.authors === undefined && draft.other.webmaster !== undefined) draft.authors = [draft.other.webmaster]
  draft.contributors = addPerson(draft.contributors, draft.other.contributor)
}

const settleLinks = (draft: Draft): void => {
  const [other] = draft.other.links ?? []
  if (other !== undefined && !draft.links?.some(isAlternate)) draft.links = [other, ...draft.links ?? []]
  settleEnclosure(draft)
  draft.links = filled(draft.links)
}

const settleEnclosure = ({ links, other }: Draft): void => {
  if (other.enclosure === undefined) return
  const at = links?.findIndex(({ rel }) => rel === "enclosure") ?? -1
  const counted = links?.[at]
  if (links !== undefined && counted !== undefined) links[at] = { ...counted, href: other.enclosure }
}

const isAlternate = ({ rel }: Link): boolean => rel === "alternate"

const filled = <T>(list: Array<T> | undefined): Array<T> | undefined =>
  list === undefined || list.length === 0 ? undefined : list

const mediaOf = ({ media }: Draft): Media | undefined => {
  if (media === undefined) return undefined
  const found = defined({
    ...media,
    thumbnails: filled(media.thumbnails),
    contents: filled(media.contents),
    credits: filled(media.credits)
  })
  return Object.keys(found).length === 0 ? undefined : found
}

const itunesText = (draft: Draft): Draft["summary"] => {
  const text = draft.content === undefined ? draft.itunes?.summary ?? draft.itunes?.subtitle : undefined
  return text === undefined ? undefined : { value: text, type: "html" }
}
