import type { Entry } from "./Entry.ts"
import { getLinks, getPermalink } from "./Feed.ts"

/** The sources of an id, in order of preference. An entry without a source uses the next one. */
export const idRules = ["publisher", "link", "enclosure", "content"] as const
export type IdRule = typeof idRules[number]

/** An entry from the reader of a dialect. The id may be absent or empty. */
export type RawEntry = Omit<Entry, "id"> & { readonly id?: string }

/** The value from which a rule makes the id of an entry. */
export const getIdSource = (rule: IdRule, entry: RawEntry): string | undefined => {
  switch (rule) {
    case "publisher":
      return getPublisherId(entry)
    case "link":
      return getPermalink(entry)
    case "enclosure":
      return getLinks(entry.links, "enclosure")[0]?.href
    case "content":
      return summarizeContent(entry)
  }
}

export const getPublisherId = (entry: RawEntry): string | undefined =>
  entry.id === undefined || entry.id.trim() === "" ? undefined : entry.id

/**
 * The essence of an entry. Two entries with the same id and essence are one entry.
 *
 * Under a publisher's id, the content only counts without a title, because publishers edit content. Under a generated id the content
 * always counts, because a repeated entry is better than a lost entry.
 */
export const summarize = (rule: IdRule, entry: RawEntry): string => {
  const content = rule === "publisher" && entry.title !== undefined ? "" : summarizeContent(entry)
  return JSON.stringify([entry.title?.value, getPermalink(entry), content])
}

/** The text of an entry without its title: the first content, or else the summary. */
export const getBody = ({ content, summary }: RawEntry): string | undefined => content?.[0]?.value ?? summary?.value

const summarizeContent = (entry: RawEntry): string => {
  const title = entry.title?.value
  const body = getBody(entry)
  return title === undefined && body === undefined
    ? JSON.stringify(summarizeWithoutTexts(entry))
    : JSON.stringify([title?.trim(), body?.trim()])
}

/** The dates of an entry without texts only count if it has nothing else, because a date may be the time of the request. */
const summarizeWithoutTexts = ({ categories, image, links, media, published, updated }: RawEntry) => {
  const parts = [
    links?.map(({ href }) => href),
    categories?.map(({ term }) => term),
    media?.contents?.map(({ url }) => url),
    image?.url
  ]
  return parts.every((part) => part === undefined) ? [published, updated] : parts
}

/** Whether a rule distinguishes the entries: some entries have its source, and the values are not all alike. */
export const canUseRule = (rule: IdRule, raw: ReadonlyArray<RawEntry>): boolean => {
  if (rule === "content") return true
  let first: { readonly key: string; readonly essence: string } | undefined
  let constant = false
  for (const entry of raw) {
    const key = getIdSource(rule, entry)
    if (key === undefined) continue
    if (first === undefined) first = { key, essence: summarize(rule, entry) }
    else if (key !== first.key) return true
    else constant ||= summarize(rule, entry) !== first.essence
  }
  return first !== undefined && !constant
}
