import { isInRange, type NumberRange, type Rank, type Search } from "#domain/Search.ts"
import { escapePattern, legalText, urlKey } from "./Values.ts"

const ranks: { readonly [rank in Rank]: string } = {
  velocity: "r.velocity",
  bozo: "r.bozo_rank",
  porn: "r.porn_rank",
  popularity: "r.popularity"
}

/** Comparison of `inurl` with a URL: contained as it is, or similar by trigrams. */
export type Likeness = "exact" | "similar"

/**
 * Resources with a similar URL that a search looks through.
 *
 * They are selected first, because the planner takes the comparison for cheap: it would compare a million URLs in the order of the page, for
 * seconds.
 */
const maxSimilar = 2_000

/** Appends a value to the parameters of a statement, and returns its place. */
type Put = (value: unknown, type: string) => string

const putInto = (parameters: Array<unknown>): Put => (value, type) => `$${parameters.push(value)}::${type}`

const addCondition = <A>(to: Array<string>, value: A | undefined, condition: (value: A) => string): void => {
  if (value !== undefined) to.push(condition(value))
}

const contains = (put: Put, likeness: Likeness) => (column: string, part: string): string =>
  likeness === "exact"
    ? `${column} ilike ${put(legalText(`%${escapePattern(part)}%`), "text")}`
    : `${put(legalText(part), "text")} <% ${column}`

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
  const put = putInto(parameters)
  const text = (value: string) => put(legalText(value), "text")
  const within = contains(put, likeness)
  const ofSubscription: Array<string> = [`u.account_id = ${put(accountId, "int4")}`]
  addCondition(ofSubscription, search.endpointUrl, (url) => `${isEndpoint(text(url))} and u.channel <> 1`)
  addCondition(ofSubscription, search.endpointJid, (jid) => `${isEndpoint(text(jid))} and u.channel = 1`)
  addCondition(ofSubscription, search.endpointHostname, (host) => `u.host = ${text(host)} and u.channel <> 1`)
  addCondition(ofSubscription, search.endpointDomain, (host) => `u.host = ${text(host)} and u.channel = 1`)
  addCondition(ofSubscription, search.endpointInurl, (part) => `${within("u.endpoint", part)} and u.channel <> 1`)
  addCondition(
    ofSubscription,
    search.label,
    (label) => `u.labels <> '{}' and u.labels @> array[${text(label)}]`
  )
  // Formats 2 and 3: Atom and JSON for feeds only
  const ofFormat: Array<string> = []
  if (search.format === "json") {
    ofSubscription.push("u.format in (1, 3)")
    ofFormat.push("(u.format = 1 or r.kind in (0, 1))")
  }
  if (search.format === "atom") {
    ofFormat.push("(u.format = 0 or coalesce(u.format, 2) = 2 and r.kind in (0, 1))")
  }
  addCallbackHealth(search, ofSubscription, put)
  const ofResource = [...ofFormat, ...resourceConditions(search, likeness, put)]
  return ofResource.length === 0
    ? `subscriptions u where ${ofSubscription.join(" and ")}`
    : `subscriptions u join resources r on r.id = u.resource_id where ${
      [...ofSubscription, ...ofResource].join(" and ")
    }`
}

/** The same for all resources `r`. Conditions on subscriptions are left out. */
export const resourceSearchSql = (search: Search, likeness: Likeness, parameters: Array<unknown>): string =>
  `resources r where ${["true", ...resourceConditions(search, likeness, putInto(parameters))].join(" and ")}`

const resourceConditions = (search: Search, likeness: Likeness, put: Put): ReadonlyArray<string> => {
  const conditions: Array<string> = []
  addCondition(conditions, search.feedUrl, (url) => {
    const given = put(legalText(url), "text")
    return `r.key = ${urlKey(given)} and r.url = ${given}`
  })
  addCondition(conditions, search.feedHostname, (host) => `r.host = ${put(legalText(host), "text")}`)
  addCondition(conditions, search.feedInurl, (part) =>
    likeness === "exact"
      ? contains(put, likeness)("r.url", part)
      : `r.id = any(array(select s.id from resources s where ${
        contains(put, likeness)("s.url", part)
      } limit ${maxSimilar}))`)
  for (const { rank, range } of search.ranks) {
    conditions.push(`coalesce(${ranks[rank]}, 0) ${range.relation} ${put(range.value, "float8")}`)
  }
  addResourceHealth(search, conditions, put)
  return conditions
}

/**
 * Adds the conditions on the health of callbacks.
 *
 * What is rare has a partial index: resources in error, failing subscriptions, dropped deliveries. A search for these starts there. A walk
 * through the account finds common values soon.
 */
const addCallbackHealth = ({ dropped, endpointFailing }: Search, conditions: Array<string>, put: Put): void => {
  if (endpointFailing !== undefined) {
    conditions.push(`u.failing_since is ${endpointFailing ? "not " : ""}null`)
  }
  if (dropped !== undefined) {
    if (!isInRange(0, dropped)) conditions.push(`u.id in (${idsWithDropped})`)
    conditions.push(`${countDropped} ${dropped.relation} ${put(dropped.value, "float8")}`)
  }
}

const addResourceHealth = ({ feedCode, feedFailing }: Search, conditions: Array<string>, put: Put): void => {
  if (feedFailing !== undefined) {
    conditions.push(feedFailing ? `r.id in (${idsInError})` : `not exists (${idsInError} and t.resource_id = r.id)`)
  }
  if (feedCode !== undefined) {
    const codeOf = `(select p.http_code from schedule p where p.resource_id = r.id) ${feedCode.relation} ${
      put(feedCode.value, "float8")
    }`
    // the array comes first: the planner takes a join of all codes for common, and walks through the account
    conditions.push(
      isErrorRange(feedCode)
        ? `r.id = any(array(select r.id from (${idsInError}) r(id) where ${codeOf}))`
        : codeOf
    )
  }
}

const idsInError = "select t.resource_id from resource_state t where t.in_error"

const countDropped = "(select count(*) from deliveries d where d.subscription_id = u.id and d.state = 1)"

/** The subscriptions with dropped deliveries: one look into the index for each, because one may have thousands. */
const idsWithDropped = `
  with recursive found as (
    (select d.subscription_id as id from deliveries d where d.state = 1 order by d.subscription_id limit 1)
    union all
    select (
      select d.subscription_id from deliveries d where d.state = 1 and d.subscription_id > f.id
      order by d.subscription_id limit 1
    ) from found f where f.id is not null
  )
  select id from found where id is not null`

/** Whether a range holds no code of a successful fetch. Such codes are rare. */
const isErrorRange = (range: NumberRange): boolean =>
  Array.from({ length: 200 }, (_, i) => i + 200).every((code) => !isInRange(code, range))

/** Compares the hash too, because the index holds the hash: an endpoint can be longer than an index key. */
const isEndpoint = (endpoint: string): string =>
  `hashtextextended(u.endpoint, 0) = hashtextextended(${endpoint}, 0) and u.endpoint = ${endpoint}`

/** True for a search that falls back to similar URLs. */
export const searchesParts = ({ endpointInurl, feedInurl }: Search): boolean =>
  endpointInurl !== undefined || feedInurl !== undefined
