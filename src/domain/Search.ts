import { Result } from "effect"
import * as Jid from "./Jid.ts"
import * as Labels from "./Labels.ts"
import { badParameter, type Refusal } from "./Refusal.ts"
import type { Format } from "./Subscription.ts"
import { quote } from "./Topic.ts"

/**
 * A filter of subscriptions; all its parts have to match. `parse` creates it.
 *
 * `inurl` is a part of the URL, in upper or lower case. Without a match, similar URLs match: see `SubscriptionStore.list`.
 */
export interface Search {
  /** The format in lists: Atom for a feed without a requested format. */
  readonly format?: Format
  /** One of the labels, whole. */
  readonly label?: string
  /** Canonical topic. */
  readonly feedUrl?: string
  readonly feedInurl?: string
  readonly feedHostname?: string
  /** An unknown rank counts as 0. */
  readonly ranks: ReadonlyArray<{ readonly rank: Rank; readonly range: NumberRange }>
  /** Bare JID, and domain of a JID, in the forms of `Jid`. */
  readonly endpointJid?: string
  readonly endpointDomain?: string
  /** Byte for byte in the spelling of the subscriber. */
  readonly endpointUrl?: string
  readonly endpointInurl?: string
  readonly endpointHostname?: string
  /** The resource is in its error state. */
  readonly feedFailing?: boolean
  /** HTTP status of the last fetch. Errors (0, and 400 or more) count once the resource is in its error state. */
  readonly feedCode?: NumberRange
  /** All deliveries fail since the last success. */
  readonly endpointFailing?: boolean
  /** Number of dropped notifications. */
  readonly dropped?: NumberRange
}

export type Rank = "velocity" | "bozo" | "porn" | "popularity"

/** The numbers with this relation to `value`. */
export interface NumberRange {
  readonly relation: "=" | "<" | "<=" | ">" | ">="
  readonly value: number
}

/** Matches all subscriptions. */
export const matchAll: Search = { ranks: [] }

/** Minimum length of a URL part. Nearly every URL contains shorter parts, and no index finds them. */
const minPartLength = 3
const maxTextLength = 2048

type KeyResult = Result.Result<Partial<Search>, string>

/** Parsers of the search keys by their dotted names: each returns a part of the search, or the problem of the text. */
const readers = {
  format: (text) => {
    const format = text.toLowerCase()
    return format === "atom" || format === "json" ? Result.succeed({ format }) : Result.fail("can be json or atom")
  },
  label: (text) =>
    Result.flatMap(Result.mapError(Labels.check([text], "label"), ({ message }) => message.replace(/^label /, "")), (
      [label]
    ) => label === undefined ? Result.fail("has to be a label") : Result.succeed({ label })),
  "feed.url": (text) => {
    const url = URL.parse(text)
    return url === null ? Result.fail("has to be the URL of a feed, whole") : Result.succeed({ feedUrl: url.href })
  },
  "feed.inurl": (text) => Result.map(parseUrlPart(text), (feedInurl) => ({ feedInurl })),
  "feed.hostname": (text) => Result.map(parseHostname(text), (feedHostname) => ({ feedHostname })),
  "feed.velocity": (text) => parseRank("velocity", text),
  "feed.bozo": (text) => parseRank("bozo", text),
  "feed.porn": (text) => parseRank("porn", text),
  "feed.popularity": (text) => parseRank("popularity", text),
  "endpoint.jid": (text) => Result.succeed({ endpointJid: Jid.bareOf(text) ?? text }),
  "endpoint.domain": (text) => Result.map(parseHostname(text), (host) => ({ endpointDomain: Jid.domainOf(host) })),
  "endpoint.url": (text) => Result.succeed({ endpointUrl: text }),
  "endpoint.inurl": (text) => Result.map(parseUrlPart(text), (endpointInurl) => ({ endpointInurl })),
  "endpoint.hostname": (text) => Result.map(parseHostname(text), (endpointHostname) => ({ endpointHostname })),
  "feed.failing": (text) => Result.map(parseFlag(text), (feedFailing) => ({ feedFailing })),
  "feed.code": (text) => Result.map(parseRange(text), (feedCode) => ({ feedCode })),
  "endpoint.failing": (text) => Result.map(parseFlag(text), (endpointFailing) => ({ endpointFailing })),
  "deliveries.dropped": (text) => Result.map(parseRange(text), (dropped) => ({ dropped }))
} satisfies Record<string, (text: string) => KeyResult>

export type Key = keyof typeof readers

export const keys = Object.keys(readers) as ReadonlyArray<Key>

const isKey = (name: string): name is Key => Object.hasOwn(readers, name)

/**
 * Parses a search from its keys (`feed.url`) and their texts. `parameter` is its name in the sentence of a refusal.
 */
export const parse = (
  sent: Iterable<readonly [key: string, text: string]>,
  parameter: string
): Result.Result<Search, Refusal> => {
  const ranks: Array<Search["ranks"][number]> = []
  const search = { ranks }
  for (const [key, text] of sent) {
    const name = `${parameter}[${key}]`
    const refused = (what: string) => Result.fail(badParameter(name, what))
    if (!isKey(key)) return refused(`${parameter} has no key ${quote(key)}; there are ${keys.join(", ")}.`)
    if (text.length > maxTextLength) {
      return refused(`${name} has ${text.length} characters; at most ${maxTextLength} are accepted.`)
    }
    const read: KeyResult = readers[key](text)
    if (Result.isFailure(read)) return refused(`${name} ${read.failure}; received ${quote(text)}.`)
    const { ranks: more = [], ...one } = read.success
    ranks.push(...more)
    Object.assign(search, one)
  }
  return Result.succeed(search)
}

/**
 * Parses a search from one line, such as `feed.failing:true example.org`: keys with their texts, and parts of the resource's URL.
 *
 * `parameter` is the name of the line in the sentence of a refusal.
 */
export const parseLine = (line: string, parameter: string): Result.Result<Search, Refusal> => {
  const sent: Array<readonly [string, string]> = []
  for (const word of line.trim().split(/\s+/)) {
    const [, key = "", text = ""] = /^([a-z]+(?:\.[a-z]+)?)[:=](.+)$/i.exec(word) ?? []
    if (word === "") continue
    if (isKey(key.toLowerCase())) sent.push([key.toLowerCase(), text])
    else if (key.includes(".")) sent.push([key, text])
    else sent.push(["feed.inurl", word])
  }
  return parse(sent, parameter)
}

/** The keys of the parts that are texts or flags. */
const textKeys = {
  format: "format",
  label: "label",
  feedUrl: "feed.url",
  feedInurl: "feed.inurl",
  feedHostname: "feed.hostname",
  endpointJid: "endpoint.jid",
  endpointDomain: "endpoint.domain",
  endpointUrl: "endpoint.url",
  endpointInurl: "endpoint.inurl",
  endpointHostname: "endpoint.hostname",
  feedFailing: "feed.failing",
  endpointFailing: "endpoint.failing"
} satisfies { readonly [part in Exclude<keyof Search, "ranks" | "feedCode" | "dropped">]: Key }

const formatRange = ({ relation, value }: NumberRange): string => `${relation}${value}`

/** Formats a search as keys and texts, which `parse` reads back. */
export const format = (search: Search): ReadonlyArray<readonly [key: Key, text: string]> => [
  ...Object.entries(textKeys).flatMap(([part, key]): ReadonlyArray<readonly [Key, string]> => {
    const text = search[part as keyof typeof textKeys]
    return text === undefined ? [] : [[key, String(text)]]
  }),
  ...search.ranks.map(({ range, rank }) => [`feed.${rank}`, formatRange(range)] as const),
  ...(search.feedCode === undefined ? [] : [["feed.code", formatRange(search.feedCode)] as const]),
  ...(search.dropped === undefined ? [] : [["deliveries.dropped", formatRange(search.dropped)] as const])
]

/** A part with an indexed word, so that the search need not read every URL. `../..` has none, and `x.y` no useful one. */
const parseUrlPart = (text: string): Result.Result<string, string> => {
  if (text.length < minPartLength) return Result.fail(`has to have ${minPartLength} characters or more`)
  return /[\p{L}\p{N}]{2}/u.test(text)
    ? Result.succeed(text)
    : Result.fail("has to have two letters or digits side by side")
}

const parseHostname = (text: string): Result.Result<string, string> => {
  const url = URL.parse(`http://${text}/`)
  return url === null || url.href !== `http://${url.hostname}/`
    ? Result.fail("has to be the name of a host, without scheme, port and path")
    : Result.succeed(url.hostname)
}

const parseFlag = (text: string): Result.Result<boolean, string> => {
  const flag = text.toLowerCase()
  return flag === "true" || flag === "false" ? Result.succeed(flag === "true") : Result.fail("can be true or false")
}

const parseRank = (rank: Rank, text: string): KeyResult =>
  Result.map(parseRange(text), (range) => ({ ranks: [{ rank, range }] }))

const parseRange = (text: string): Result.Result<NumberRange, string> => {
  const [, relation = "=", number = ""] =
    /^\s*(>=|<=|=|>|<)?\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*$/i.exec(text) ??
      []
  const value = number === "" ? NaN : Number(number)
  return Number.isFinite(value)
    ? Result.succeed({ relation: relation as NumberRange["relation"], value })
    : Result.fail("has to be a number, or one behind >, >=, <= or <")
}

/** True for a rank within the range. */
export const isInRange = (rank: number | undefined, { relation, value }: NumberRange): boolean => {
  const known = rank ?? 0
  switch (relation) {
    case "=":
      return known === value
    case "<":
      return known < value
    case "<=":
      return known <= value
    case ">":
      return known > value
    case ">=":
      return known >= value
  }
}
