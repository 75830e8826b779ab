import { type Fingerprint, hashString } from "#domain/Fingerprint.ts"
import type { Entry } from "./Entry.ts"
import type { AssignedIds, Identity } from "./EntryId.ts"
import { getPermalink } from "./Feed.ts"
import { hashWithoutScheme, packContent, type SeenIds, type Trace } from "./SeenIds.ts"

const updateWindowMs = 3 * 60_000

/** An entry of a document, compared with the seen ids. */
export interface Candidate {
  readonly entry: Entry
  readonly identity: Identity
  readonly trace: Trace
  /** The id of the entry was seen, or the publisher's id behind a generated one. */
  readonly known: boolean
  /** `updated` is at most three minutes ago, or ahead. */
  readonly isRecentlyUpdated: boolean
}

export const makeCandidates = (assigned: AssignedIds, seen: SeenIds, now: number): ReadonlyArray<Candidate> =>
  assigned.entries.flatMap((entry, index) => {
    const identity = assigned.identities[index]
    if (identity === undefined) return []
    const trace = makeTrace(entry, identity)
    const { publisherId } = identity
    const known = seen.has(trace.id) || publisherId !== undefined && seen.has(hashString(publisherId))
    return [{ entry, identity, trace, known, isRecentlyUpdated: isRecentlyUpdated(entry, now) }]
  })

export const makeTrace = (entry: Entry, identity: Identity): Trace => ({
  id: hashString(entry.id),
  form: hashWithoutScheme(identity.basis),
  essence: hashEssence(entry),
  content: hashContent(entry)
})

const hashEssence = (entry: Entry): Fingerprint => {
  const title = entry.title?.value ?? ""
  const link = getPermalink(entry) ?? ""
  return title === "" && link === "" ? 0n : hashString(`${title}\n${link}`)
}

/** The hash of title, texts, links, enclosures and categories. */
const hashContent = ({ categories, content, links, summary, title, updated }: Entry): number => {
  const texts = [title?.value, summary?.value, content?.map(({ value }) => value)]
  return packContent(hashString(JSON.stringify([texts, links, categories])), updated !== undefined)
}

const isRecentlyUpdated = ({ updated }: Entry, now: number): boolean =>
  updated !== undefined && Math.abs(now - updated) <= updateWindowMs

/** The publication date of an entry, or else its update. */
export const getDate = (entry: Entry): number | undefined => entry.published ?? entry.updated
