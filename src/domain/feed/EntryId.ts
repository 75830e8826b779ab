import type { Entry } from "./Entry.ts"
import { getLinks, getPermalink } from "./Feed.ts"
import { hashToHex, toSlug } from "./Slug.ts"

/** What an id is made from. In order of preference; an entry that lacks the thing falls to the next. */
export type IdRule = "publisher" | "link" | "enclosure" | "content"

/**
 * How the ids of one resource are made: decided by its first document that has entries, and kept from then on.
 *
 * A change of rule gives every entry a new id, that is, floods every subscriber. So the rule only moves when it cannot hold any longer
 * (the ids are gone, or all alike), and `version` names the algorithm, so that a better one serves new resources alone. Plain JSON.
 */
export interface IdPolicy {
  readonly version: 1
  readonly rule: IdRule
  /** Why this rule, in words for a person. */
  readonly reason: string
}

/** An entry as a dialect's reader gives it: its id may be absent or empty. */
export type RawEntry = Omit<Entry, "id"> & { readonly id?: string }

/** Where an entry's id came from. */
export interface Identity {
  readonly rule: IdRule
  /** `given`: as published; `absent`: there was none; `unusable`: there was one, but the policy passes it over; `repeated`: told apart from its namesake. */
  readonly reason: "given" | "absent" | "unusable" | "repeated"
  /** What stays the same for the same entry but for scheme and host: the id itself, or the URL that it was made from. */
  readonly basis: string
}

export interface AssignedIds {
  /** In document order, each with an id of its own; exact repetitions and older versions of the same entry are left out. */
  readonly entries: ReadonlyArray<Entry>
  /** Index by index with `entries`. */
  readonly identities: ReadonlyArray<Identity>
  /** To be stored with the resource; `undefined` as long as no document had entries. */
  readonly policy: IdPolicy | undefined
  /** The stored policy could not hold: ids of this document cannot be compared with those seen before. */
  readonly policyChanged: boolean
}

const idRules: ReadonlyArray<IdRule> = ["publisher", "link", "enclosure", "content"]

/**
 * Gives every entry of a document its id.
 *
 * Ids that the publisher gave are kept byte for byte. Pure: the same document and policy give the same ids at every fetch.
 */
export const assignIds = (raw: ReadonlyArray<RawEntry>, policy: IdPolicy | undefined): AssignedIds => {
  if (raw.length === 0) return { entries: [], identities: [], policy, policyChanged: false }
  const decided = policy !== undefined && canUseRule(policy.rule, raw) ? policy : decidePolicy(raw, policy)
  const named = raw.map((entry) => nameEntry(entry, decided.rule))
  const apart = makeIdsUnique(named)
  return {
    entries: apart.map(withId),
    identities: apart.map(identify),
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
  const why = raw.some((entry) => getPublisherId(entry) !== undefined)
    ? "all entries carry the same id"
    : "no entry carries an id"
  return `${why}; ids are made from the ${rule === "content" ? "title and content" : rule}`
}

/** A rule holds when some entries have what it needs and these do not all have the same: a constant tells nothing. */
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
 * Entries of one document that ended up with the same id: the oldest keeps it, the others get a suffix of their own.
 *
 * The oldest, because it most likely had the id alone at an earlier fetch. When it leaves the feed and the next oldest takes the id over,
 * that id has been seen and nobody is told twice. Of several versions of one entry (Atom allows that) only the latest stays.
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

/** By date, and by place in the document where dates are missing or equal: feeds begin with the newest. */
const pickOldest = (group: ReadonlyArray<NamedEntry>): NamedEntry =>
  group.reduce((best, one) => getDate(one) <= getDate(best) ? one : best)

const getDate = ({ entry }: NamedEntry): number => entry.published ?? entry.updated ?? 0

/**
 * Two entries with the same id and the same essence are one entry.
 *
 * Content is edited without a new title or link, so under the publisher's id it only counts when there is no title.
 * A made id says less, and there it counts always: better a repeated entry than a lost one.
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

/** The title is only there for a person; the hash makes the id. */
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

/** A stored policy as a value; anything else is none, and the next document decides anew. */
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
