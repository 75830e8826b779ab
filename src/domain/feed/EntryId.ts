import type { Entry } from "./Entry.ts"
import { getLinks, getPermalink } from "./Feed.ts"
import { hashToHex, toSlug } from "./Slug.ts"

/** The source of an id, in order of preference. An entry without this source uses the next one. */
export type IdRule = "publisher" | "link" | "enclosure" | "content"

/**
 * The rule for the ids of one resource. The first document with entries decides.
 *
 * Another rule gives every entry a new id and so floods every subscriber. Therefore the rule only changes when it fails: the ids are gone,
 * or all alike. `version` names the algorithm, so that a better algorithm serves new resources only. Plain JSON.
 */
export interface IdPolicy {
  readonly version: 1
  readonly rule: IdRule
  /** The reason for this rule, for a person. */
  readonly reason: string
}

/** An entry from the reader of a dialect. The id may be absent or empty. */
export type RawEntry = Omit<Entry, "id"> & { readonly id?: string }

/** Origin of an entry's id. */
export interface Identity {
  readonly rule: IdRule
  /** `given`: as published. `absent`: no id. `unusable`: ignored by the policy. `repeated`: changed, because another entry has the same id. */
  readonly reason: "given" | "absent" | "unusable" | "repeated"
  /** The id itself, or the URL behind the id. Only its scheme and host may change for the same entry. */
  readonly basis: string
}

export interface AssignedIds {
  /** In document order, with unique ids, without repetitions and older versions of the same entry. */
  readonly entries: ReadonlyArray<Entry>
  /** Same order as `entries`. */
  readonly identities: ReadonlyArray<Identity>
  /** Stored with the resource. `undefined` until a document has entries. */
  readonly policy: IdPolicy | undefined
  /** The stored policy failed, so the ids of this document differ from the seen ids. */
  readonly policyChanged: boolean
}

const idRules: ReadonlyArray<IdRule> = ["publisher", "link", "enclosure", "content"]

/**
 * Gives every entry of a document an id.
 *
 * Ids of the publisher stay unchanged. Pure: the same document and policy give the same ids at every fetch.
 */
export const assignIds = (raw: ReadonlyArray<RawEntry>, policy: IdPolicy | undefined): AssignedIds => {
  if (raw.length === 0) return { entries: [], identities: [], policy, policyChanged: false }
  const decided = policy !== undefined && canUseRule(policy.rule, raw) ? policy : decidePolicy(raw, policy)
  const named = raw.map((entry) => nameEntry(entry, decided.rule))
  const uniqueEntries = makeIdsUnique(named)
  return {
    entries: uniqueEntries.map(withId),
    identities: uniqueEntries.map(identify),
    policy: decided,
    policyChanged: policy !== undefined && decided !== policy
  }
}

const withId = ({ entry, id, rule }: NamedEntry): Entry =>
  rule === "publisher" ? { ...entry, id } : { ...entry, id, generatedId: true }

const decidePolicy = (raw: ReadonlyArray<RawEntry>, previous: IdPolicy | undefined): IdPolicy => {
  const first = previous === undefined ? 0 : idRules.indexOf(previous.rule) + 1
  const rule = idRules.slice(first).find((candidate) => canUseRule(candidate, raw)) ?? "content"
  return { version: 1, rule, reason: explainRule(rule, raw) }
}

const explainRule = (rule: IdRule, raw: ReadonlyArray<RawEntry>): string => {
  if (rule === "publisher") return "the publisher gives usable ids"
  const cause = raw.some((entry) => getPublisherId(entry) !== undefined)
    ? "all entries carry the same id"
    : "no entry carries an id"
  return `${cause}; ids are made from the ${rule === "content" ? "title and content" : rule}`
}

/** Whether a rule distinguishes the entries: some entries have its source, and the values are not all alike. */
const canUseRule = (rule: IdRule, raw: ReadonlyArray<RawEntry>): boolean => {
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

interface NamedEntry {
  readonly entry: RawEntry
  readonly rule: IdRule
  readonly key: string
  readonly id: string
  readonly repeated: boolean
}

const nameEntry = (entry: RawEntry, policy: IdRule): NamedEntry => {
  const rules = idRules.slice(idRules.indexOf(policy))
  const rule = rules.find((candidate) => getIdSource(candidate, entry) !== undefined) ?? "content"
  const key = getIdSource(rule, entry) ?? ""
  return { entry, rule, key, id: makeId(rule, entry, key), repeated: false }
}

const makeId = (rule: IdRule, entry: RawEntry, key: string): string =>
  rule === "publisher" ? key : rule === "content" ? makeContentId(entry, key) : toSlug(key)

const getIdSource = (rule: IdRule, entry: RawEntry): string | undefined => {
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

const getPublisherId = (entry: RawEntry): string | undefined =>
  entry.id === undefined || entry.id.trim() === "" ? undefined : entry.id

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
    for (const one of versions) kept.set(one, one === holder ? one : addSuffix(one))
  }
  return named.flatMap((one) => kept.get(one) ?? [])
}

const addSuffix = (one: NamedEntry): NamedEntry => ({
  ...one,
  id: `${one.id}${one.rule === "publisher" ? "#" : "-"}${hashToHex(summarize(one.rule, one.entry))}`,
  repeated: true
})

const pickLatest = (versions: ReadonlyArray<NamedEntry>): NamedEntry =>
  versions.reduce((best, one) => (one.entry.updated ?? 0) > (best.entry.updated ?? 0) ? one : best)

/** Compares dates. For missing or equal dates the last entry of the document counts as oldest, because feeds begin with the newest. */
const pickOldest = (group: ReadonlyArray<NamedEntry>): NamedEntry =>
  group.reduce((best, one) => getDateOrZero(one) <= getDateOrZero(best) ? one : best)

const getDateOrZero = ({ entry }: NamedEntry): number => entry.published ?? entry.updated ?? 0

/**
 * The essence of an entry. Two entries with the same id and essence are one entry.
 *
 * Under a publisher's id, the content only counts without a title, because publishers edit content. Under a generated id the content
 * always counts, because a repeated entry is better than a lost entry.
 */
const summarize = (rule: IdRule, entry: RawEntry): string => {
  const content = rule === "publisher" && entry.title !== undefined ? "" : summarizeContent(entry)
  return JSON.stringify([entry.title?.value, getPermalink(entry), content])
}

const identify = ({ entry, rule, key, id, repeated }: NamedEntry): Identity => ({
  rule,
  reason: repeated
    ? "repeated"
    : rule === "publisher"
    ? "given"
    : getPublisherId(entry) === undefined
    ? "absent"
    : "unusable",
  basis: rule === "content" ? id : repeated ? `${key}#${hashToHex(summarize(rule, entry))}` : key
})

/** The title is for people, and the hash makes the id unique. */
const makeContentId = (entry: RawEntry, key: string): string => {
  const words = toSlug(entry.title?.value.slice(0, 40) ?? "").slice(0, 60).replace(/^-|-$/g, "")
  return `${words === "" ? "entry" : words}-${hashToHex(key)}`
}

const summarizeContent = (entry: RawEntry): string => {
  const title = entry.title?.value
  const content = entry.content?.[0]?.value ?? entry.summary?.value
  return title === undefined && content === undefined
    ? JSON.stringify([
      entry.published,
      entry.updated,
      entry.links?.map(({ href }) => href),
      entry.categories?.map(({ term }) => term)
    ])
    : JSON.stringify([title?.trim(), content?.trim()])
}

/** Parses a stored policy. After an unknown form, the next document decides again. */
export const parsePolicy = (stored: unknown): IdPolicy | undefined => {
  if (
    typeof stored !== "object" || stored === null || !("version" in stored && "rule" in stored && "reason" in stored)
  ) {
    return undefined
  }
  const rule = idRules.find((known) => known === stored.rule)
  return stored.version === 1 && rule !== undefined && typeof stored.reason === "string"
    ? { version: 1, rule, reason: stored.reason }
    : undefined
}
