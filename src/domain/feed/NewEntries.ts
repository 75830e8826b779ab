import type { Entry } from "./Entry.ts"
import { type AssignedIds, assignIds, type Identity, type IdPolicy, type RawEntry } from "./EntryId.ts"
import { getPermalink } from "./Feed.ts"
import { type Fingerprint, ofString } from "#domain/Fingerprint.ts"
import {
  findCommonHost,
  hashWithoutScheme,
  makeLookup,
  noSeenIds,
  pack,
  remember,
  type SeenIds,
  type Trace,
  unpack
} from "./SeenIds.ts"

/** What a feed resource remembers from one document to the next. */
export interface FeedMemory {
  /** Packed, see `SeenIds`; empty before the first document. */
  readonly seen: Uint8Array
  readonly idPolicy: IdPolicy | undefined
  readonly bozoRank: number
}

/** The entries of a document as they were read. */
export interface ReadEntries {
  /** In document order. */
  readonly entries: ReadonlyArray<RawEntry>
  /** Further entries that were not read, because the same bytes stood in the last document. */
  readonly skipped: number
}

export interface ComparisonOptions {
  /** An id that only differs in scheme, or in the host along with its neighbours, is the known one. Default true. */
  readonly followMovedIds?: boolean
  /** The document may hold a part of the entries only, such as the new ones: those that are missing have not left. */
  readonly partial?: boolean
  /** The first document broke off at that time, epoch ms, and none was whole since. */
  readonly truncatedAt?: number
  /** This one breaks off. */
  readonly isTruncated?: boolean
}

export interface NewEntries {
  /** New and recently updated entries to tell subscribers, oldest first, at most 500. */
  readonly notified: ReadonlyArray<Entry>
  /** All entries that are new, oldest first. */
  readonly fresh: ReadonlyArray<Entry>
  /** Known entries that were updated within the last three minutes, oldest first. */
  readonly updated: ReadonlyArray<Entry>
  readonly memory: FeedMemory
  /** Some ids of the document were made by us. */
  readonly generatedIds: boolean
  /** For the status text: `parsed 1/30 entries`. */
  readonly outcome: string
  /** New ids whose title and link were known under an id that is gone. */
  readonly churned: number
}

const maxNotified = 500
const updateWindowMs = 3 * 60_000
const dayMs = 24 * 60 * 60_000

/**
 * Compares a document with what is remembered: what is new, what is told, what is remembered next.
 *
 * A first document is remembered and nobody is told. `now` is epoch ms.
 */
export const findNewEntries = (
  memory: FeedMemory,
  read: ReadEntries,
  now: number,
  options: ComparisonOptions = {}
): NewEntries => {
  const remembered = unpack(memory.seen)
  const seen = remembered ?? noSeenIds
  const assigned = assignIds(read.entries, memory.idPolicy)
  const candidates = makeCandidates(assigned, seen, now)
  const past = read.skipped > 0 ? noPreviousDocument : recallPrevious(seen, candidates)
  const fresh = findFresh(candidates, past, seen, assigned.policyChanged, options.followMovedIds ?? true)
  const updated = remembered === undefined ? new Set<Candidate>() : findUpdated(candidates, seen)
  const missed = findTruncatedAway(candidates, options)
  const told = remembered === undefined
    ? []
    : candidates.filter((one) => fresh.has(one) && !missed.has(one) || updated.has(one))
  const unread = options.partial === true ? Math.max(seen.window - candidates.length, 0) : read.skipped
  const churned = [...fresh].filter(({ trace }) => past.renamed.has(trace.essence)).length
  return {
    notified: sortOldestFirst(told).slice(-maxNotified),
    fresh: sortOldestFirst([...fresh]),
    updated: sortOldestFirst([...updated]),
    memory: {
      seen: pack(
        rememberDocument(seen, candidates, unread, options.partial === true ? findStrays(candidates, seen, now) : [])
      ),
      idPolicy: assigned.policy,
      bozoRank: smoothRank(memory.bozoRank, churned / Math.max(fresh.size, 1))
    },
    generatedIds: candidates.some(({ identity }) => identity.rule !== "publisher"),
    outcome: `parsed ${fresh.size + updated.size}/${read.entries.length + read.skipped} entries`,
    churned
  }
}

/**
 * Whether the unread entries must be read after all before `decide` is asked.
 *
 * A new entry among known bytes is the usual case and needs only itself. Ids that repeat, that moved or that churn,
 * and a policy that is not decided or no longer holds, show only against the whole document.
 */
export const needsWholeDocument = (memory: FeedMemory, read: ReadEntries): boolean => {
  const seen = unpack(memory.seen)
  if (seen === undefined || memory.idPolicy === undefined) return true
  const assigned = assignIds(read.entries, memory.idPolicy)
  if (assigned.policyChanged || assigned.entries.length < read.entries.length) return true
  const stands = makeTraceLookup(seen)
  const isForm = makeLookup(seen.document.map(({ form }) => form))
  const isEssence = makeLookup(seen.document.map(({ essence }) => essence))
  return assigned.entries.some((entry, index) => {
    const identity = assigned.identities[index]
    if (identity === undefined || identity.reason === "repeated") return true
    const trace = makeTrace(entry, identity)
    if (seen.has(trace.id)) return stands(trace.id)?.essence !== trace.essence
    return trace.form !== 0n && isForm(trace.form) || trace.essence !== 0n && isEssence(trace.essence)
  })
}

/** What is remembered of an entry that stands in the document; few documents ask. */
const makeTraceLookup = ({ document }: SeenIds) => {
  let byId: ReadonlyMap<Fingerprint, Trace> | undefined
  return (id: Fingerprint): Trace | undefined => {
    byId ??= new Map(document.map((trace) => [trace.id, trace]))
    return byId.get(id)
  }
}

interface Candidate {
  readonly entry: Entry
  readonly identity: Identity
  readonly trace: Trace
  /** This very id was seen. */
  readonly known: boolean
  /** Hash of id and `updated`, when that is recent: remembered, so that one update is told once. */
  readonly updateMark: Fingerprint | undefined
}

const makeCandidates = (assigned: AssignedIds, seen: SeenIds, now: number): ReadonlyArray<Candidate> =>
  assigned.entries.flatMap((entry, index) => {
    const identity = assigned.identities[index]
    if (identity === undefined) return []
    const trace = makeTrace(entry, identity)
    return [{ entry, identity, trace, known: seen.has(trace.id), updateMark: hashUpdate(entry, now) }]
  })

const makeTrace = (entry: Entry, identity: Identity): Trace => ({
  id: ofString(entry.id),
  form: hashWithoutScheme(identity.basis),
  essence: hashEssence(entry)
})

const hashEssence = (entry: Entry): Fingerprint => {
  const title = entry.title?.value ?? ""
  const link = getPermalink(entry) ?? ""
  return title === "" && link === "" ? 0n : ofString(`${title}\n${link}`)
}

const hashUpdate = ({ id, updated }: Entry, now: number): Fingerprint | undefined =>
  updated !== undefined && Math.abs(now - updated) <= updateWindowMs ? ofString(`${id}\n${updated}`) : undefined

/** What the last document tells about ids that were never seen. */
interface PreviousDocument {
  /** Forms of ids that have left the document. */
  readonly forms: ReadonlySet<Fingerprint>
  /** Essences of all entries of the last document. */
  readonly essences: ReadonlySet<Fingerprint>
  /** Essences that one entry had then and one has now, and the id of then is gone. */
  readonly renamed: ReadonlySet<Fingerprint>
}

const noPreviousDocument: PreviousDocument = { forms: new Set(), essences: new Set(), renamed: new Set() }

const recallPrevious = (seen: SeenIds, candidates: ReadonlyArray<Candidate>): PreviousDocument => {
  if (candidates.every(({ known }) => known)) return noPreviousDocument
  const present = new Set(candidates.map(({ trace }) => trace.id))
  const gone = seen.document.filter(({ id }) => !present.has(id))
  const before = findUniqueEssences(seen.document)
  const now = findUniqueEssences(candidates.map(({ trace }) => trace))
  return {
    forms: toSetWithoutZero(gone.map(({ form }) => form)),
    essences: toSetWithoutZero(seen.document.map(({ essence }) => essence)),
    renamed: toSetWithoutZero(
      gone.map(({ essence }) => essence).filter((essence) => before.has(essence) && now.has(essence))
    )
  }
}

const toSetWithoutZero = (hashes: ReadonlyArray<Fingerprint>): ReadonlySet<Fingerprint> => {
  const set = new Set(hashes)
  set.delete(0n)
  return set
}

const findUniqueEssences = (traces: ReadonlyArray<Trace>): ReadonlySet<Fingerprint> => {
  const count = new Map<Fingerprint, number>()
  for (const { essence } of traces) count.set(essence, (count.get(essence) ?? 0) + 1)
  return new Set([...count].flatMap(([essence, times]) => times === 1 ? [essence] : []))
}

/**
 * Candidates with an id that was never seen, but for those that are old acquaintances under a new name.
 *
 * By essence when our own rule made the new name: the policy moved, or a namesake arrived. By form when the publisher did, see `followed`.
 * A publisher's id that churns is news all the same: the contract says that a new id is a new entry.
 */
const findFresh = (
  candidates: ReadonlyArray<Candidate>,
  past: PreviousDocument,
  seen: SeenIds,
  moved: boolean,
  follow: boolean
): ReadonlySet<Candidate> => {
  const renamed = follow ? findMoved(candidates, past, seen) : new Set<Candidate>()
  return new Set(
    candidates.filter((one) =>
      !one.known && !renamed.has(one) &&
      !((moved || one.identity.reason === "repeated") && past.essences.has(one.trace.essence))
    )
  )
}

/**
 * Unseen ids that are known ones after a move of the site.
 *
 * Each may change its scheme for itself. A change of host only counts when the whole document made it, and at least half of the unseen
 * ids are known by it: two sites may well have a `/?p=12` each, but not half a window.
 */
const findMoved = (
  candidates: ReadonlyArray<Candidate>,
  past: PreviousDocument,
  seen: SeenIds
): ReadonlySet<Candidate> => {
  if (past.forms.size === 0) return new Set()
  const unseen = candidates.filter(({ known }) => !known)
  const scheme = new Set(unseen.filter(({ trace }) => past.forms.has(trace.form)))
  if (seen.host === "" || findCommonHost(candidates.map(({ identity }) => identity.basis)) === "") return scheme
  const host = unseen.filter(({ identity }) => past.forms.has(hashWithoutScheme(identity.basis, seen.host)))
  return host.length * 2 >= unseen.length ? new Set([...scheme, ...host]) : scheme
}

/**
 * Known entries whose `updated` is recent and was not told before.
 *
 * When five or more are known and all of them have it, the publisher stamps the time of the request, and nothing was updated.
 */
const findUpdated = (candidates: ReadonlyArray<Candidate>, seen: SeenIds): ReadonlySet<Candidate> => {
  const known = candidates.filter((one) => one.known)
  const updated = known.filter(({ updateMark }) => updateMark !== undefined && !seen.has(updateMark))
  return new Set(known.length >= 5 && updated.length === known.length ? [] : updated)
}

/**
 * What stood behind the end of a first document that broke off, and so is no news: it stands behind all that is known, and is not dated after
 * that. Of a document that breaks off as well, perhaps since its publisher never writes the last tags, nothing is taken for it that has no date.
 */
const findTruncatedAway = (
  candidates: ReadonlyArray<Candidate>,
  { isTruncated, truncatedAt }: ComparisonOptions
): ReadonlySet<Candidate> => {
  if (truncatedAt === undefined) return new Set()
  const unless = isTruncated === true ? Infinity : -Infinity
  return new Set(
    candidates.slice(candidates.findLastIndex(({ known }) => known) + 1)
      .filter(({ entry }) => (getDate(entry) ?? unless) <= truncatedAt)
  )
}

/**
 * Ids in a pushed document that were not seen, of entries that are not dated to this day: the feed will hardly ever show them, while the
 * hub may push them again when the feed has forgotten a hundred others.
 */
const findStrays = (candidates: ReadonlyArray<Candidate>, seen: SeenIds, now: number): ReadonlyArray<Fingerprint> => {
  const strays = new Set(seen.strays)
  return candidates
    .filter(({ entry, known, trace }) => (!known || strays.has(trace.id)) && !(now - (getDate(entry) ?? 0) < dayMs))
    .map(({ trace }) => trace.id)
}

/** Unread entries are taken to stand where they stood: behind what was read, as many as there are. */
const rememberDocument = (
  seen: SeenIds,
  candidates: ReadonlyArray<Candidate>,
  skipped: number,
  strays: ReadonlyArray<Fingerprint>
): SeenIds => {
  const marks = candidates.flatMap(({ updateMark }) => updateMark ?? [])
  const read = candidates.map(({ trace }) => trace)
  const site = findCommonHost(candidates.map(({ identity }) => identity.basis))
  if (skipped === 0) return remember(seen, read, site, { marks, strays })
  const present = new Set(read.map(({ id }) => id))
  const unread = seen.document.filter(({ id }) => !present.has(id)).slice(0, skipped)
  const known = site === seen.host || read.length === 0 ? seen.host : ""
  return remember(seen, [...read, ...unread], known, { marks, strays })
}

/** By date where all have one, else by place: documents begin with the newest. */
const sortOldestFirst = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<Entry> => {
  const entries = candidates.map(({ entry }) => entry).toReversed()
  const dated = entries.every((entry) => getDate(entry) !== undefined)
  return dated ? entries.toSorted((a, b) => (getDate(a) ?? 0) - (getDate(b) ?? 0)) : entries
}

const getDate = (entry: Entry): number | undefined => entry.published ?? entry.updated

/** Moves a fifth of the way with each document, so that one bad document condemns nobody. 0 to 1, three decimals. */
const smoothRank = (rank: number, share: number): number => Math.round((rank + (share - rank) / 5) * 1000) / 1000

/** A resource that is no feed, by the fingerprint of its content. `first` tells nobody. */
export const compareDocument = (
  previous: Fingerprint | undefined,
  current: Fingerprint
): "first" | "unchanged" | "changed" =>
  previous === undefined ? "first" : previous === current ? "unchanged" : "changed"

/** Whether a resource is in its error state, and since how many fetches. */
export interface Health {
  readonly inError: boolean
  /** Failed fetches in a row. */
  readonly failures: number
}

export const healthy: Health = { inError: false, failures: 0 }

/**
 * A failed fetch or an unreadable document. Only the one that enters the error state is announced.
 *
 * Publishers' servers slip: of a resource that was read before (`proven`), the first failure after a success does not count yet.
 */
export const recordFailure = (
  health: Health,
  proven: boolean
): { readonly health: Health; readonly announced: boolean; readonly slipped: boolean } => {
  const slipped = proven && !health.inError && health.failures === 0
  return {
    health: { inError: !slipped, failures: health.failures + 1 },
    announced: !slipped && !health.inError,
    slipped
  }
}
