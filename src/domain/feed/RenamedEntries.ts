import type { Fingerprint } from "#domain/Fingerprint.ts"
import type { Candidate } from "./Candidate.ts"
import type { AssignedIds } from "./EntryId.ts"
import { findCommonHost, hashWithoutScheme, type SeenIds, type Trace } from "./SeenIds.ts"

/** Hashes of the recent entries, which identify known entries with a new id. */
export interface RecentEntries {
  /** Forms of the recent ids that are not in the document. */
  readonly forms: ReadonlySet<Fingerprint>
  /** Essences of all recent entries. */
  readonly essences: ReadonlySet<Fingerprint>
  /** Essences of one recent entry and one entry now, where the old id is gone. */
  readonly renamed: ReadonlySet<Fingerprint>
}

export const noRecentEntries: RecentEntries = { forms: new Set(), essences: new Set(), renamed: new Set() }

export const recallRecent = (seen: SeenIds, candidates: ReadonlyArray<Candidate>): RecentEntries => {
  if (candidates.every(({ known }) => known)) return noRecentEntries
  const present = new Set(candidates.map(({ trace }) => trace.id))
  const gone = seen.recent.filter(({ id }) => !present.has(id))
  const before = findUniqueEssences(seen.recent)
  const now = findUniqueEssences(candidates.map(({ trace }) => trace))
  return {
    forms: toSetWithoutZero(gone.map(({ form }) => form)),
    essences: toSetWithoutZero(seen.recent.map(({ essence }) => essence)),
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
 * Candidates with an unseen id, except known entries with a new id.
 *
 * If Windhover's own rule changed the id (another rule, a repeated id, or an entry that lost its publisher's id), the essence identifies a
 * known entry. If the publisher moved the site, the form does, see `findMoved`. Other new ids of the publisher are new entries, by contract.
 */
export const findFresh = (
  candidates: ReadonlyArray<Candidate>,
  recent: RecentEntries,
  seen: SeenIds,
  { policy, ruleChanged }: Pick<AssignedIds, "policy" | "ruleChanged">,
  followMovedIds: boolean
): ReadonlySet<Candidate> => {
  const moved = followMovedIds ? findMoved(candidates, recent, seen) : new Set<Candidate>()
  const isRenamed = ({ identity, trace: { essence } }: Candidate) =>
    (ruleChanged || identity.reason === "repeated") && recent.essences.has(essence) ||
    identity.rule !== policy?.rule && recent.renamed.has(essence)
  return new Set(candidates.filter((one) => !one.known && !moved.has(one) && !isRenamed(one)))
}

/**
 * Unseen ids that are known ids after a move of the site.
 *
 * A single id may change its scheme. A change of host must cover the whole document, and explain at least half of the unseen ids. Two
 * sites can share one path such as `/?p=12`, but not half a window.
 */
const findMoved = (
  candidates: ReadonlyArray<Candidate>,
  recent: RecentEntries,
  seen: SeenIds
): ReadonlySet<Candidate> => {
  if (recent.forms.size === 0) return new Set()
  const unseen = candidates.filter(({ known }) => !known)
  const scheme = new Set(unseen.filter(({ trace }) => recent.forms.has(trace.form)))
  if (seen.host === "" || findCommonHost(candidates.map(({ identity }) => identity.basis)) === "") return scheme
  const host = unseen.filter(({ identity }) => recent.forms.has(hashWithoutScheme(identity.basis, seen.host)))
  return host.length * 2 >= unseen.length ? new Set([...scheme, ...host]) : scheme
}
