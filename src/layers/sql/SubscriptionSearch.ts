import type { Rank, Search } from "#domain/Search.ts"
import { legalText, urlKey } from "./Values.ts"

const ranks: { readonly [rank in Rank]: string } = {
  velocity: "r.velocity",
  bozo: "r.bozo_rank",
  porn: "r.porn_rank",
  popularity: "r.popularity"
}

/** Comparison of `inurl` with a URL: contained as it is, or similar by trigrams. */
export type Likeness = "exact" | "similar"

/**
 * The part of a select behind `from`: the subscriptions `u` of an account that match a search. Appends its values to `parameters`.
 *
 * The resource `r` is joined only for conditions on the resource.
 */
export const searchSql = (
  accountId: number,
  search: Search,
  likeness: Likeness,
  parameters: Array<unknown>
): string => {
  const put = (value: unknown, type: string) => `$${parameters.push(value)}::${type}`
  const text = (value: string) => put(legalText(value), "text")
  const within = (column: string, part: string) =>
    likeness === "exact" ? `${column} ilike ${text(`%${escapePattern(part)}%`)}` : `${text(part)} <% ${column}`
  const ofSubscription: Array<string> = [`u.account_id = ${put(accountId, "int4")}`]
  const ofResource: Array<string> = []
  const add = <A>(to: Array<string>, value: A | undefined, condition: (value: A) => string) => {
    if (value !== undefined) to.push(condition(value))
  }
  add(ofSubscription, search.endpointUrl, (url) => `${isEndpoint(text(url))} and u.channel <> 1`)
  add(ofSubscription, search.endpointJid, (jid) => `${isEndpoint(text(jid))} and u.channel = 1`)
  add(ofSubscription, search.endpointHostname, (host) => `u.host = ${text(host)} and u.channel <> 1`)
  add(ofSubscription, search.endpointDomain, (host) => `u.host = ${text(host)} and u.channel = 1`)
  add(ofSubscription, search.endpointInurl, (part) => `${within("u.endpoint", part)} and u.channel <> 1`)
  // Formats 2 and 3: Atom and JSON for feeds only
  if (search.format === "json") {
    ofSubscription.push("u.format in (1, 3)")
    ofResource.push("(u.format = 1 or r.kind in (0, 1))")
  }
  if (search.format === "atom") {
    ofResource.push("(u.format = 0 or coalesce(u.format, 2) = 2 and r.kind in (0, 1))")
  }
  add(ofResource, search.feedUrl, (url) => {
    const given = text(url)
    return `r.key = ${urlKey(given)} and r.url = ${given}`
  })
  add(ofResource, search.feedHostname, (host) => `r.host = ${text(host)}`)
  add(ofResource, search.feedInurl, (part) => within("r.url", part))
  for (const { rank, range } of search.ranks) {
    ofResource.push(`coalesce(${ranks[rank]}, 0) ${range.relation} ${put(range.value, "float8")}`)
  }
  return ofResource.length === 0
    ? `subscriptions u where ${ofSubscription.join(" and ")}`
    : `subscriptions u join resources r on r.id = u.resource_id where ${
      [...ofSubscription, ...ofResource].join(" and ")
    }`
}

/** Compares the hash too, because the index holds the hash: an endpoint can be longer than an index key. */
const isEndpoint = (endpoint: string): string =>
  `hashtextextended(u.endpoint, 0) = hashtextextended(${endpoint}, 0) and u.endpoint = ${endpoint}`

/** Escapes the special characters of `like`. */
const escapePattern = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

/** True for a search that falls back to similar URLs. */
export const searchesParts = ({ endpointInurl, feedInurl }: Search): boolean =>
  endpointInurl !== undefined || feedInurl !== undefined
