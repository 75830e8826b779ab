import type { Fingerprint } from "#domain/Fingerprint.ts"
import { type Candidate, getDate, makeCandidates, makeTrace } from "./Candidate.ts"
import type { Entry } from "./Entry.ts"
import { assignIds, type RawEntry } from "./EntryId.ts"
import type { IdPolicy } from "./IdPolicy.ts"
import { getPublisherId } from "./IdSource.ts"
import { findFresh, noRecentEntries, recallRecent } from "./RenamedEntries.ts"
import {
  findCommonHost,
  isOtherContent,
  keepContent,
  makeLookup,
  noSeenIds,
  pack,
  remember,
  type SeenIds,
  type Trace,
  unpack
} from "./SeenIds.ts"
import { hashToHex } from "./Slug.ts"
import { dayMs } from "#domain/Time.ts"

/** The memory of a feed resource between two documents. */
export interface FeedMemory {
  /** Packed `SeenIds`. Empty before the first document. */
  readonly seen: Uint8Array
  readonly idPolicy: IdPolicy | undefined
  readonly bozoRank: number
}

/** The entries of a document. */
export interface ReadEntries {
  /** In document order. */
  readonly entries: ReadonlyArray<RawEntry>
  /** Number of entries that were skipped, because the last document had the same bytes. */
  readonly skipped: number
}

export interface ComparisonOptions {
  /** Treat ids as unchanged if only their scheme changed, or their host in the whole document. Default true. */
  readonly followMovedIds?: boolean
  /** The document may be a part of the feed, such as the new entries. Missing entries have not left the feed. */
  readonly partial?: boolean
  /** Time of a truncated first document, epoch ms, if no whole document followed. */
  readonly truncatedAt?: number
  /** This document is truncated. */
  readonly isTruncated?: boolean
  /** The last document had too many entries. Newest date of the entries left out, epoch ms; 0 for entries without a date. */
  readonly leftOutUntil?: number
}

export interface NewEntries {
  /** New and recently updated entries for subscribers, oldest first, at most 500. */
  readonly notified: ReadonlyArray<Entry>
  /** All new entries, oldest first. */
  readonly fresh: ReadonlyArray<Entry>
  /** Known entries with another content and an update in the last three minutes, oldest first. */
  readonly updated: ReadonlyArray<Entry>
  readonly memory: FeedMemory
  /** Windhover generated some ids of the document. */
  readonly generatedIds: boolean
  /** For the status text: `parsed 1/30 entries`. */
  readonly outcome: string
  /** Number of new ids whose title and link belonged to an id that is gone. */
  readonly churned: number
}

const maxNotified = 500

/**
 * Compares a document with the memory of its resource: finds new and updated entries, and makes the next memory.
 *
 * A first document is remembered without a notification. `now` is epoch ms.
 */
export const findNewEntries = (
  memory: FeedMemory,
  read: ReadEntries,
  now: number,
  options: ComparisonOptions = {}
): NewEntries => {
  const remembered = unpack(memory.seen)
  const seen = remembered ?? noSeenIds
  const isPartial = options.partial === true
  const isWhole = !isPartial && read.skipped === 0
  const assigned = assignIds(read.entries, memory.idPolicy, isWhole && options.isTruncated !== true)
  const candidates = makeCandidates(assigned, seen, now)
  const recent = read.skipped > 0 ? noRecentEntries : recallRecent(seen, candidates)
  const fresh = findFresh(candidates, recent, seen, assigned, options.followMovedIds ?? true)
  const updated = remembered === undefined ? new Set<Candidate>() : findUpdated(candidates, seen)
  const notified = remembered === undefined ? [] : chooseNotified(candidates, fresh, updated, options)
  const churned = [...fresh].filter(({ trace }) => recent.renamed.has(trace.essence)).length
  return {
    notified: sortOldestFirst(notified).slice(-maxNotified),
    fresh: sortOldestFirst([...fresh]),
    updated: sortOldestFirst([...updated]),
    memory: {
      seen: pack(remember(seen, {
        traces: candidates.map((one) => keepStoredContent(one, seen, updated)),
        size: candidates.length + read.skipped,
        host: chooseHost(seen, candidates, isWhole),
        isPartial,
        strays: isPartial ? findStrays(candidates, seen, now) : [],
        now
      })),
      idPolicy: assigned.policy,
      bozoRank: smoothRank(memory.bozoRank, churned / Math.max(fresh.size, 1))
    },
    generatedIds: candidates.some(({ identity }) => identity.rule !== "publisher"),
    outcome: `parsed ${fresh.size + updated.size}/${read.entries.length + read.skipped} entries`,
    churned
  }
}

/** New entries, except old ones that earlier documents lacked, and updated entries. */
const chooseNotified = (
  candidates: ReadonlyArray<Candidate>,
  fresh: ReadonlySet<Candidate>,
  updated: ReadonlySet<Candidate>,
  options: ComparisonOptions
): ReadonlyArray<Candidate> => {
  const old = new Set([...findTruncatedAway(candidates, options), ...findLeftOut(candidates, options)])
  return candidates.filter((one) => fresh.has(one) && !old.has(one) || updated.has(one))
}

/**
 * Whether `findNewEntries` needs the skipped entries, too.
 *
 * A new entry among known bytes is the usual case and needs no other entry. Repeated, moved and churning ids need the whole document, as
 * does a rule that may change.
 */
export const needsWholeDocument = (memory: FeedMemory, read: ReadEntries): boolean => {
  const seen = unpack(memory.seen)
  if (seen === undefined || memory.idPolicy === undefined) return true
  const { idPolicy } = memory
  if (idPolicy.challenger !== undefined || mayImproveRule(idPolicy, read.entries)) return true
  const assigned = assignIds(read.entries, idPolicy, false)
  if (assigned.ruleChanged || assigned.entries.length < read.entries.length) return true
  const findTrace = makeTraceLookup(seen)
  const isForm = makeLookup(seen.recent.map(({ form }) => form))
  const isEssence = makeLookup(seen.recent.map(({ essence }) => essence))
  return assigned.entries.some((entry, index) => {
    const identity = assigned.identities[index]
    if (identity === undefined || identity.reason === "repeated") return true
    const trace = makeTrace(entry, identity)
    if (seen.has(trace.id)) return findTrace(trace.id)?.essence !== trace.essence
    return trace.form !== 0n && isForm(trace.form) || trace.essence !== 0n && isEssence(trace.essence)
  })
}

/** Whether entries have publisher's ids under another rule. Only a whole document shows whether these ids are usable. */
const mayImproveRule = ({ commonId, rule }: IdPolicy, entries: ReadonlyArray<RawEntry>): boolean =>
  rule !== "publisher" && entries.some((entry) => {
    const id = getPublisherId(entry)
    return id !== undefined && (commonId === undefined || hashToHex(id) !== commonId)
  })

/** Makes a lookup of traces by id. The map is built on first use, because few documents need it. */
const makeTraceLookup = ({ recent }: SeenIds) => {
  let byId: ReadonlyMap<Fingerprint, Trace> | undefined
  return (id: Fingerprint): Trace | undefined => {
    byId ??= new Map(recent.map((trace) => [trace.id, trace]))
    return byId.get(id)
  }
}

/**
 * Known entries with a recent update and another content than the stored one.
 *
 * Publishers stamp entries with the time of the request, so a date alone is no update. If all known entries have changed, and number at
 * least five, each request renders the contents anew. Then no entry counts.
 */
const findUpdated = (candidates: ReadonlyArray<Candidate>, seen: SeenIds): ReadonlySet<Candidate> => {
  const known = candidates.filter((one) => one.known)
  const updated = known.filter(({ isRecentlyUpdated, trace }) =>
    isRecentlyUpdated && seen.has(trace.id) && isOtherContent(seen.getContent(trace.id), trace.content)
  )
  return new Set(known.length >= 5 && updated.length === known.length ? [] : updated)
}

/** The trace of an entry, with the content that is stored and was sent. */
const keepStoredContent = (one: Candidate, seen: SeenIds, updated: ReadonlySet<Candidate>): Trace => {
  const { trace } = one
  if (!one.known || updated.has(one)) return trace
  const content = seen.getContent(trace.id)
  return content === 0 ? trace : { ...trace, content: keepContent(content, trace.content) }
}

/**
 * Entries that a truncated first document lacked, and so are no news: behind all known entries, and not dated after the first document.
 *
 * In another truncated document, entries without a date are news, because some publishers never write the last tags.
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
 * Entries that the last document had beyond the limit of entries. When the publisher shortens the feed, these come into view.
 *
 * Such an entry has an old date. Among equal dates and without dates, both ends of the document were read, so such an entry stands
 * between known ones.
 */
const findLeftOut = (
  candidates: ReadonlyArray<Candidate>,
  { leftOutUntil }: ComparisonOptions
): ReadonlyArray<Candidate> => {
  if (leftOutUntil === undefined) return []
  const first = candidates.findIndex(({ known }) => known)
  const last = candidates.findLastIndex(({ known }) => known)
  return candidates.filter(({ entry }, index) => {
    const date = getDate(entry)
    if (leftOutUntil > 0 && date !== undefined && date !== leftOutUntil) return date < leftOutUntil
    return index > first && index < last && first >= 0
  })
}

/**
 * Unseen ids of a pushed document whose entries are older than a day.
 *
 * The feed hardly ever shows such entries, but the hub may push the same entries again much later.
 */
const findStrays = (candidates: ReadonlyArray<Candidate>, seen: SeenIds, now: number): ReadonlyArray<Fingerprint> => {
  const strays = new Set(seen.strays)
  return candidates
    .filter(({ entry, known, trace }) => (!known || strays.has(trace.id)) && !(now - (getDate(entry) ?? 0) < dayMs))
    .map(({ trace }) => trace.id)
}

/** The host of a document. A part of a document has the known host, if no read entry has another one. */
const chooseHost = (seen: SeenIds, candidates: ReadonlyArray<Candidate>, isWhole: boolean): string => {
  if (candidates.length === 0) return seen.host
  const host = findCommonHost(candidates.map(({ identity }) => identity.basis))
  return isWhole || host === seen.host ? host : ""
}

/** Sorts by date if all entries have one, else by document order, because documents begin with the newest. */
const sortOldestFirst = (candidates: ReadonlyArray<Candidate>): ReadonlyArray<Entry> => {
  const entries = candidates.map(({ entry }) => entry).toReversed()
  const dated = entries.every((entry) => getDate(entry) !== undefined)
  return dated ? entries.toSorted((a, b) => (getDate(a) ?? 0) - (getDate(b) ?? 0)) : entries
}

/** Moves a fifth of the way with each document, so that one bad document does not decide. 0 to 1, three decimals. */
const smoothRank = (rank: number, share: number): number => Math.round((rank + (share - rank) / 5) * 1000) / 1000
