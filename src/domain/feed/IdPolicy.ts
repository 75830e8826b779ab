import { Schema } from "effect"
import { canUseRule, getBody, getIdSource, getPublisherId, type IdRule, idRules, type RawEntry } from "./IdSource.ts"
import { hashToHex } from "./Slug.ts"

/**
 * The only entry of a document, with its id from the link. Fingerprints in hex.
 *
 * Some feeds have one entry at a time, always with the home page as link. The link names nothing if title and text both change under it.
 */
const OnlyEntry = Schema.Struct({
  link: Schema.String,
  /** Title and text at the first sight of the link; absent where the entry has none. */
  title: Schema.optionalKey(Schema.String),
  body: Schema.optionalKey(Schema.String),
  namesNothing: Schema.optionalKey(Schema.Literal(true))
})
type OnlyEntry = typeof OnlyEntry.Type

/** Another rule than the one in force, for which the last documents in a row speak. */
const Challenger = Schema.Struct({
  rule: Schema.Literals(idRules),
  documents: Schema.Finite,
  /** Fingerprint of the source of a document's only entry. The same source again is no evidence for a better rule. */
  only: Schema.optionalKey(Schema.String)
})
type Challenger = typeof Challenger.Type

/**
 * The rule for the ids of one resource. The first document with entries decides.
 *
 * Another rule gives every entry a new id. Therefore the rule changes only after three documents in a row that agree on another rule.
 * `version` names the algorithm, so that a better algorithm serves new resources only. Plain JSON.
 */
const IdPolicy = Schema.Struct({
  version: Schema.Literal(1),
  rule: Schema.Literals(idRules),
  /** The reason for this rule, for a person. */
  reason: Schema.String,
  /** Fingerprint of an id that all entries of a document shared. Such an id names no entry. */
  commonId: Schema.optionalKey(Schema.String),
  challenger: Schema.optionalKey(Challenger),
  only: Schema.optionalKey(OnlyEntry)
})
export type IdPolicy = typeof IdPolicy.Type

/** Parses a stored policy. After an unknown form, the next document decides again. */
export const parsePolicy = (stored: unknown): IdPolicy | undefined => isPolicy(stored) ? stored : undefined

const isPolicy: (stored: unknown) => stored is IdPolicy = Schema.is(IdPolicy)

/** So many documents in a row change the rule. One odd document, such as an error message, changes nothing. */
const documentsToChange = 3

/** The rule that names the entries of this document: the rule in force, or the best rule for a document without its source. */
export const ruleForDocument = (policy: IdPolicy | undefined, raw: ReadonlyArray<RawEntry>): IdRule =>
  policy !== undefined && canUseRule(policy.rule, raw) ? policy.rule : findUsableRule(raw)

const findUsableRule = (raw: ReadonlyArray<RawEntry>): IdRule =>
  idRules.find((rule) => canUseRule(rule, raw)) ?? "content"

/** The policy after a whole document with entries. */
export const nextPolicy = (policy: IdPolicy | undefined, raw: ReadonlyArray<RawEntry>): IdPolicy => {
  if (policy === undefined) return decide(findUsableRule(raw), raw)
  const vote = findVote(policy, raw)
  const { challenger, ...others } = policy
  if (vote === policy.rule) return challenger === undefined ? policy : others
  const only = isBetter(vote, policy.rule) ? fingerprintOnlySource(vote, raw) : undefined
  const agrees = challenger?.rule === vote
  if (agrees && only !== undefined && only === challenger.only) return policy
  const documents = agrees ? challenger.documents + 1 : 1
  return documents >= documentsToChange
    ? decide(vote, raw, policy)
    : { ...others, challenger: { rule: vote, documents, ...(only === undefined ? {} : { only }) } }
}

const isBetter = (rule: IdRule, other: IdRule): boolean => idRules.indexOf(rule) < idRules.indexOf(other)

/** The fingerprint of the source of a document's only entry. */
const fingerprintOnlySource = (rule: IdRule, raw: ReadonlyArray<RawEntry>): string | undefined => {
  const [first] = raw
  const source = raw.length === 1 && first !== undefined ? getIdSource(rule, first) : undefined
  return source === undefined ? undefined : hashToHex(source)
}

/** A better rule has to name most entries; the rule in force only has to be usable. */
const findVote = (policy: IdPolicy, raw: ReadonlyArray<RawEntry>): IdRule =>
  idRules.find((rule) => isBetter(rule, policy.rule) ? namesMost(rule, raw, policy) : canUseRule(rule, raw)) ??
    "content"

const namesMost = (rule: IdRule, raw: ReadonlyArray<RawEntry>, { commonId, only }: IdPolicy): boolean => {
  const sources = new Set(raw.flatMap((entry) => getIdSource(rule, entry) ?? []))
  const [first] = sources
  if (sources.size === 1 && first !== undefined) {
    const source = hashToHex(first)
    if (source === (rule === "publisher" ? commonId : only?.link)) return false
  }
  return sources.size * 2 > raw.length
}

const decide = (rule: IdRule, raw: ReadonlyArray<RawEntry>, previous?: IdPolicy): IdPolicy => {
  const shared = findSharedId(raw)
  const commonId = shared === undefined ? previous?.commonId : hashToHex(shared)
  return {
    version: 1,
    rule,
    reason: explainRule(rule, raw),
    ...(commonId === undefined ? {} : { commonId }),
    ...(previous?.only === undefined ? {} : { only: previous.only })
  }
}

/** The publisher's id that all entries of a document share. */
export const findSharedId = (raw: ReadonlyArray<RawEntry>): string | undefined => {
  const ids = raw.flatMap((entry) => getPublisherId(entry) ?? [])
  return ids.length > 1 && new Set(ids).size === 1 && !canUseRule("publisher", raw) ? ids[0] : undefined
}

const explainRule = (rule: IdRule, raw: ReadonlyArray<RawEntry>): string => {
  if (rule === "publisher") return "the publisher gives usable ids"
  const cause = raw.some((entry) => getPublisherId(entry) !== undefined)
    ? "all entries carry the same id"
    : "no entry carries an id"
  return `${cause}; ids are made from the ${rule === "content" ? "title and content" : rule}`
}

/**
 * The policy with the observation of a document's only entry, which has its id from the link.
 *
 * A part of a document, such as a pushed entry, starts no observation.
 */
export const observeOnlyEntry = (policy: IdPolicy, link: string, entry: RawEntry, isWhole: boolean): IdPolicy => {
  const now = describe(link, entry)
  const { only } = policy
  if (only?.link !== now.link) return isWhole ? { ...policy, only: now } : policy
  return only.namesNothing === true || !isAnother(only, now)
    ? policy
    : { ...policy, only: { ...only, namesNothing: true } }
}

/** Whether a link is known to name no entry. */
export const namesNothing = ({ only }: IdPolicy, link: string): boolean =>
  only?.namesNothing === true && only.link === hashToHex(link)

const describe = (link: string, entry: RawEntry): OnlyEntry => {
  const title = entry.title?.value.trim() ?? ""
  const body = getBody(entry)?.trim() ?? ""
  return {
    link: hashToHex(link),
    ...(title === "" ? {} : { title: hashToHex(title) }),
    ...(body === "" ? {} : { body: hashToHex(body) })
  }
}

/** Whether title and text have both changed. An entry with one of them has to change the one. */
const isAnother = (before: OnlyEntry, now: OnlyEntry): boolean => {
  const sameTitle = before.title === now.title
  const sameBody = before.body === now.body
  return !(sameTitle && sameBody) && (!sameTitle || now.title === undefined) && (!sameBody || now.body === undefined)
}
