import { Effect } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import type { OwnHeader } from "#domain/delivery/OwnHeaders.ts"
import * as Search from "#domain/Search.ts"
import * as Topic from "#domain/Topic.ts"
import { quote } from "#domain/Topic.ts"
import type { Parameters } from "./Parameters.ts"
import { maxVerifyTokenLength, secretGrace } from "./ParameterSchemas.ts"

/** Maximum number of URLs in one ping. */
const maxPublishedTopics = 500

/** Reads the distinct topics of a ping, from `hub.url` and `hub.topic`. */
export const readPublishedTopics = Effect.fnUntraced(function*(parameters: Parameters) {
  const values = [...parameters.all("hub.url"), ...parameters.all("hub.topic")]
  // a URL may contain commas, so a comma separates only before the next http:// or https://; a pattern that begins with spaces would take
  // minutes for a body of spaces
  const urls = values.flatMap((value) => value.split(/,\s*(?=https?:\/\/)/i)).map((url) => url.trim())
  const topics = [...new Set(urls)]
  if (topics.length === 0) {
    return yield* badParameter(
      "hub.url",
      "Please provide a hub.url: the URL of the resource that has new content; it can be repeated."
    )
  }
  if (topics.length > maxPublishedTopics) {
    return yield* badParameter(
      "hub.url",
      `hub.url names ${topics.length} URLs; at most ${maxPublishedTopics} are accepted in one request.`
    )
  }
  return topics
})

/**
 * Reads `hub.verify` and `hub.verify_token`. A subscriber of PubSubHubbub 0.3 may send both words in its order of preference; the first
 * known word counts.
 */
export const readVerification = Effect.fnUntraced(function*(parameters: Parameters) {
  const words = parameters.all("hub.verify").flatMap((value) => value.split(",")).map((word) =>
    word.trim().toLowerCase()
  )
  const verify = words.find((word) => word === "sync" || word === "async")
  if (verify === undefined && words.length > 0) {
    return yield* badParameter("hub.verify", `hub.verify can be sync or async; received ${quote(words.join(","))}.`)
  }
  const verifyToken = yield* readBounded(parameters, "hub.verify_token", maxVerifyTokenLength)
  return { ...(verify !== undefined && { verify }), ...(verifyToken !== undefined && { verifyToken }) }
})

/** Reads `hub.secret` and `hub.secret_grace`. */
export const readSecret = Effect.fnUntraced(function*(parameters: Parameters, maxBytes: number) {
  const secret = yield* readBounded(parameters, "hub.secret", maxBytes)
  if (!parameters.has("hub.secret_grace")) return secret === undefined ? {} : { secret }
  const secretGraceSeconds = yield* parameters.integer("hub.secret_grace", secretGrace)
  if (secret !== undefined) return { secret, secretGraceSeconds }
  return yield* badParameter(
    "hub.secret_grace",
    "hub.secret_grace needs a hub.secret: the new secret, which signs beside the stored one for this time."
  )
})

/** Reads the headers of `hub.header[NAME]`; undefined when the request names none. */
export const readOwnHeaders = Effect.fnUntraced(function*(parameters: Parameters) {
  if (parameters.all("hub.header").length > 0) {
    return yield* badParameter("hub.header", "hub.header needs the name of a header: hub.header[NAME]=VALUE.")
  }
  const names = parameters.namesBelow("hub.header")
  const headers: Array<OwnHeader> = []
  for (const name of names) headers.push([name, (yield* parameters.one(`hub.header.${name}`)) ?? ""])
  return headers.length === 0 ? undefined : headers
})

/** Reads a value of at most `maxBytes` bytes. The error sentence does not repeat the value, because the value can be a secret. */
const readBounded = (
  parameters: Parameters,
  name: string,
  maxBytes: number
): Effect.Effect<string | undefined, Refusal> =>
  Effect.flatMap(parameters.one(name), (value) => {
    const length = value === undefined ? 0 : Buffer.byteLength(value)
    return length > maxBytes
      ? Effect.fail(badParameter(name, `${name} has ${length} bytes; at most ${maxBytes} are accepted.`))
      : Effect.succeed(value)
  })

/** Reads the search under a name (`search[feed][url]=…`), parsed and as the client sent it; undefined when the client sent none. */
export const readSearch = Effect.fnUntraced(function*(parameters: Parameters, name: string) {
  if (name === "search" && parameters.all(name).length > 0) {
    return yield* badParameter(
      name,
      `search needs a key: search[KEY]=…, where KEY is one of ${Search.keys.join(", ")}.`
    )
  }
  const criteria: Array<Criterion> = []
  for (const key of parameters.namesBelow(name)) {
    const text = yield* parameters.one(`${name}.${key}`)
    if (text !== undefined) criteria.push([key, text])
  }
  if (criteria.length === 0) return undefined
  return { search: yield* Effect.fromResult(Search.parse(criteria, name)), sent: nest(criteria) }
})

/** Reads the search of a list. `hub.topic` and `hub.callback` filter as well, as in older clients: by the whole URL. */
export const readListSearch = Effect.fnUntraced(function*(parameters: Parameters) {
  const found = yield* readSearch(parameters, "search")
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* readCallbackFilter(parameters, "search")
  if (topic === undefined && callback === undefined) return found
  const { canonical } = topic === undefined ? {} : yield* Effect.fromResult(Topic.parse(topic))
  const search: Search.Search = {
    ...(found?.search ?? Search.matchAll),
    ...(canonical !== undefined && { feedUrl: canonical }),
    ...(callback !== undefined && { endpointUrl: callback })
  }
  return { search, sent: found?.sent ?? {} }
})

/** Reads a `hub.callback` that selects subscriptions. The pattern `http://host%` of an older API is refused, so that its filter is not ignored. */
export const readCallbackFilter = Effect.fnUntraced(function*(parameters: Parameters, searchName: string) {
  const callback = yield* parameters.one("hub.callback")
  if (callback?.endsWith("%") !== true) return callback
  return yield* badParameter(
    "hub.callback",
    `hub.callback ends in "%", a pattern that is not supported; received ${quote(callback)}. ` +
      `Send the whole URL, or search by ${searchName}[endpoint.hostname] or ${searchName}[endpoint.inurl].`
  )
})

type Criterion = readonly [key: string, text: string]

/** Turns `feed.url` into `{feed: {url}}`. `Search.parse` has rejected unknown keys before, such as `__proto__`. */
const nest = (criteria: ReadonlyArray<Criterion>) => {
  const tree: Record<string, string | Record<string, string>> = {}
  for (const [key, text] of criteria) {
    const [group = "", name] = key.split(".")
    const below = tree[group]
    tree[group] = name === undefined ? text : { ...(typeof below === "object" && below), [name]: text }
  }
  return tree
}
