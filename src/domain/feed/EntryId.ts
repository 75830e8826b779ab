import { hashToHex, toSlug } from "./Slug.ts"
import type { Entry } from "./Entry.ts"
import { findSharedId, type IdPolicy, namesNothing, nextPolicy, observeOnlyEntry, ruleForDocument } from "./IdPolicy.ts"
import { getIdSource, getPublisherId, type IdRule, idRules, type RawEntry, summarize } from "./IdSource.ts"

export type { RawEntry } from "./IdSource.ts"

/** Origin of an entry's id. */
export interface Identity {
  readonly rule: IdRule
  /**
   * `given`: as published. `absent`: no id. `unusable`: ignored by the policy. `repeated`: changed, because another entry has the same id.
   * `shared`: made from the link, title and text, because the link names no entry.
   */
  readonly reason: "given" | "absent" | "unusable" | "repeated" | "shared"
  /** The id itself, or the URL behind the id. Only its scheme and host may change for the same entry. */
  readonly basis: string
  /** The publisher's id of an entry with a generated id. An entry whose publisher's id is known is not new. */
  readonly publisherId?: string
}

export interface AssignedIds {
  /** In document order, with unique ids, without repetitions and older versions of the same entry. */
  readonly entries: ReadonlyArray<Entry>
  /** Same order as `entries`. */
  readonly identities: ReadonlyArray<Identity>
  /** Stored with the resource. `undefined` until a document has entries. */
  readonly policy: IdPolicy | undefined
  /** Another rule than the stored one made the ids of this document, so these ids differ from the seen ids. */
  readonly ruleChanged: boolean
}

/**
 * Gives every entry of a document an id.
 *
 * Ids of the publisher stay unchanged. Pure: the same document and policy give the same ids at every fetch. A part of a document
 * (`isWhole` is false) does not change the rule.
 */
export const assignIds = (raw: ReadonlyArray<RawEntry>, policy: IdPolicy | undefined, isWhole = true): AssignedIds => {
  if (raw.length === 0) return { entries: [], identities: [], policy, ruleChanged: false }
  const decided = policy === undefined || isWhole ? nextPolicy(policy, raw) : policy
  const rule = decided.rule === policy?.rule ? ruleForDocument(policy, raw) : decided.rule
  const named = raw.map((entry) => nameEntry(entry, rule))
  const observed = observe(decided, named, isWhole)
  const uniqueEntries = makeIdsUnique(named.map((one) => isShared(one, observed) ? addSuffix(one, "shared") : one))
  const ignoredId = findSharedId(raw)
  return {
    entries: uniqueEntries.map(withId),
    identities: uniqueEntries.map((one) => identify(one, ignoredId, observed)),
    policy: observed,
    ruleChanged: policy !== undefined && rule !== policy.rule
  }
}

const observe = (policy: IdPolicy, named: ReadonlyArray<NamedEntry>, isWhole: boolean): IdPolicy => {
  const [first] = named
  return named.length === 1 && first?.rule === "link"
    ? observeOnlyEntry(policy, first.key, first.entry, isWhole)
    : policy
}

const isShared = ({ key, rule }: NamedEntry, policy: IdPolicy): boolean => rule === "link" && namesNothing(policy, key)

const withId = ({ entry, id, rule }: NamedEntry): Entry =>
  rule === "publisher" ? { ...entry, id } : { ...entry, id, generatedId: true }

interface NamedEntry {
  readonly entry: RawEntry
  readonly rule: IdRule
  readonly key: string
  readonly id: string
  /** The reason for the suffix of the id. */
  readonly suffix: "repeated" | "shared" | undefined
}

const nameEntry = (entry: RawEntry, best: IdRule): NamedEntry => {
  const rules = idRules.slice(idRules.indexOf(best))
  const rule = rules.find((candidate) => getIdSource(candidate, entry) !== undefined) ?? "content"
  const key = getIdSource(rule, entry) ?? ""
  return { entry, rule, key, id: makeId(rule, entry, key), suffix: undefined }
}

const makeId = (rule: IdRule, entry: RawEntry, key: string): string =>
  rule === "publisher" ? key : rule === "content" ? makeContentId(entry, key) : toSlug(key)

/**
 * Makes the ids of a document unique. The oldest entry keeps a repeated id, and the others get a suffix.
 *
 * The oldest entry most likely had the id alone at an earlier fetch. When this entry leaves the feed, the next oldest takes over a seen
 * id, so subscribers receive no repeat. If an entry has several versions, as Atom allows, only the latest stays.
 */
const makeIdsUnique = (named: ReadonlyArray<NamedEntry>): ReadonlyArray<NamedEntry> => {
  const groups = Map.groupBy(named, ({ id }) => id)
  if (groups.size === named.length) return named
  const kept = new Map<NamedEntry, NamedEntry>()
  for (const group of groups.values()) {
    const versions = [...Map.groupBy(group, ({ rule, entry }) => summarize(rule, entry)).values()].map(pickLatest)
    const holder = pickOldest(versions)
    for (const one of versions) kept.set(one, one === holder ? one : addSuffix(one, "repeated"))
  }
  return named.flatMap((one) => kept.get(one) ?? [])
}

const addSuffix = (one: NamedEntry, suffix: NamedEntry["suffix"]): NamedEntry => ({
  ...one,
  id: `${one.id}${one.rule === "publisher" ? "#" : "-"}${hashToHex(summarize(one.rule, one.entry))}`,
  suffix
})

const pickLatest = (versions: ReadonlyArray<NamedEntry>): NamedEntry =>
  versions.reduce((best, one) => (one.entry.updated ?? 0) > (best.entry.updated ?? 0) ? one : best)

/** Compares dates. For missing or equal dates the last entry of the document counts as oldest, because feeds begin with the newest. */
const pickOldest = (group: ReadonlyArray<NamedEntry>): NamedEntry =>
  group.reduce((best, one) => getDateOrZero(one) <= getDateOrZero(best) ? one : best)

const getDateOrZero = ({ entry }: NamedEntry): number => entry.published ?? entry.updated ?? 0

const identify = (
  { entry, id, key, rule, suffix }: NamedEntry,
  ignoredId: string | undefined,
  { commonId }: IdPolicy
): Identity => {
  const publisherId = rule === "publisher" ? undefined : getPublisherId(entry)
  const isIgnored = publisherId === undefined || publisherId === ignoredId || hashToHex(publisherId) === commonId
  return {
    rule,
    reason: suffix ??
      (rule === "publisher" ? "given" : publisherId === undefined ? "absent" : "unusable"),
    basis: rule === "content" ? id : suffix === undefined ? key : `${key}#${hashToHex(summarize(rule, entry))}`,
    ...(isIgnored ? {} : { publisherId })
  }
}

/** The title is for people, and the hash makes the id unique. */
const makeContentId = (entry: RawEntry, key: string): string => {
  const words = toSlug(entry.title?.value.slice(0, 40) ?? "").slice(0, 60).replace(/^-|-$/g, "")
  return `${words === "" ? "entry" : words}-${hashToHex(key)}`
}
