import { type Fingerprint, hashString } from "#domain/Fingerprint.ts"
import type { Entry } from "./Entry.ts"
import type { AssignedIds, Identity } from "./EntryId.ts"
import { getPermalink } from "./Feed.ts"
import { hashWithoutScheme, type SeenIds, type Trace } from "./SeenIds.ts"

const updateWindowMs = 3 * 60_000

/** An entry of a document, compared with the seen ids. */
export interface Candidate {
  readonly entry: Entry
  readonly identity: Identity
  readonly trace: Trace
  /** The id of the entry was seen. */
  readonly known: boolean
  /** Hash of id and `updated`, if `updated` is recent. Remembered, so that subscribers receive one update once. */
  readonly updateMark: Fingerprint | undefined
}

export const makeCandidates = (assigned: AssignedIds, seen: SeenIds, now: number): ReadonlyArray<Candidate> =>
  assigned.entries.flatMap((entry, index) => {
    const identity = assigned.identities[index]
    if (identity === undefined) return []
    const trace = makeTrace(entry, identity)
    return [{ entry, identity, trace, known: seen.has(trace.id), updateMark: hashUpdate(entry, now) }]
  })

export const makeTrace = (entry: Entry, identity: Identity): Trace => ({
  id: hashString(entry.id),
  form: hashWithoutScheme(identity.basis),
  essence: hashEssence(entry)
})

const hashEssence = (entry: Entry): Fingerprint => {
  const title = entry.title?.value ?? ""
  const link = getPermalink(entry) ?? ""
  return title === "" && link === "" ? 0n : hashString(`${title}\n${link}`)
}

const hashUpdate = ({ id, updated }: Entry, now: number): Fingerprint | undefined =>
  updated !== undefined && Math.abs(now - updated) <= updateWindowMs ? hashString(`${id}\n${updated}`) : undefined

/** The publication date of an entry, or else its update. */
export const getDate = (entry: Entry): number | undefined => entry.published ?? entry.updated
