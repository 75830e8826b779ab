import { Effect } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { Hub, RetrieveRequest } from "#actors/operations/Hub.ts"
import { type Caller, type Right, rights } from "#domain/Account.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { badParameter, NotSubscribed, type Refusal } from "#domain/Refusal.ts"
import * as Search from "#domain/Search.ts"
import { quote } from "#domain/Topic.ts"
import * as Contract from "./Contract.ts"
import { requireRight } from "#http/Authentication.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import { contentOf, type UsedContents } from "./FatPing.ts"
import { wantedFormat } from "#http/Negotiation.ts"
import type { Parameters } from "#http/Parameters.ts"
import * as Reply from "#http/Reply.ts"
import * as Representations from "./Representations.ts"

/** One call of the API, read and authenticated. */
export interface Call {
  readonly caller: Caller
  readonly method: string
  readonly parameters: Parameters
  readonly accept: string | undefined
  readonly ifNoneMatch: string | undefined
  readonly lastEventId: string | undefined
  /** Name of the function that the page of the caller wants to be handed the answer. */
  readonly jsonp: string | undefined
  readonly service: Representations.Service & Pick<SettingsValues, "publishers"> & {
    readonly usedContents: UsedContents
  }
}

/** What a `hub.mode` does. */
export interface Operation {
  /** Undefined: any credential may. */
  readonly right: Right | undefined
  /** It changes something, so that no GET does it: links and images are fetched without being asked for. */
  readonly changes: boolean
  readonly run: (
    hub: Hub["Service"],
    call: Call
  ) => Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal | HttpRejection>
}

const maxPublished = 500

const subscribe = Effect.fnUntraced(function*(hub: Hub["Service"], call: Call) {
  const { accept, caller, parameters } = call
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const { feedsOnly, format } = yield* wantedFormat(parameters, accept)
  const secret = yield* bounded(parameters, "hub.secret", Contract.maxSecretLength)
  const retrieve = yield* parameters.flag("retrieve")
  if (retrieve) yield* requireRight(caller, "retrieve")
  const discover = parameters.has("hub.discover") ? yield* parameters.flag("hub.discover") : undefined
  const { discovered, outcome, representation } = yield* hub.subscribe({
    caller,
    topic: topic ?? "",
    callback: callback ?? "",
    ...(format !== undefined && { format }),
    ...(feedsOnly && { feedsOnly }),
    ...(secret !== undefined && { secret }),
    ...(yield* verification(parameters)),
    ...(discover !== undefined && { discover }),
    face: "api",
    retrieve
  })
  if (outcome === "pending") return Reply.instead(Reply.pending, discovered)
  return representation === undefined
    ? Reply.instead(Reply.done, discovered)
    : yield* Representations.reply(representation, { ...call, format, feedsOnly, ifNoneMatch: undefined })
})

const unsubscribe = Effect.fnUntraced(function*(hub: Hub["Service"], { caller, parameters }: Call) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const outcome = yield* hub.unsubscribe({
    caller,
    topic: topic ?? "",
    ...(callback !== undefined && { callback }),
    ...(yield* verification(parameters)),
    face: "api"
  }).pipe(Effect.mapError(notSubscribedHere))
  return outcome === "pending" ? Reply.pending : Reply.done
})

/** There is nothing to find at the address of an unsubscription, so that it is no 404: the request cannot be done as it is. */
const notSubscribedHere = (refusal: Refusal): Refusal =>
  refusal.reason instanceof NotSubscribed ? badParameter("hub.topic", refusal.message) : refusal

const list = Effect.fnUntraced(function*(hub: Hub["Service"], { caller, ifNoneMatch, jsonp, parameters }: Call) {
  const search = yield* searchOf(parameters, "search")
  const page = yield* parameters.integer("page", Contract.page)
  const byPage = yield* parameters.integer("by_page", Contract.byPage)
  const detailed = yield* parameters.flag("detailed")
  const { items, total } = yield* hub.list({
    caller,
    page,
    byPage,
    counted: detailed,
    presence: detailed,
    ...(search !== undefined && { search: search.search })
  })
  const meta = total === undefined ? undefined : { total, page, byPage, search: search?.sent ?? {} }
  return Representations.list(items, { detailed: meta, jsonp, ifNoneMatch })
})

/** What a retrieve is asked for. */
export const retrieval = Effect.fnUntraced(function*({ caller, parameters }: Call) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  const search = callback === undefined ? yield* searchOf(parameters, "hub.callback") : undefined
  if (topic === undefined && callback === undefined && search === undefined) {
    return yield* badParameter(
      "hub.topic",
      "Please provide a hub.topic, the URL of a resource that you are subscribed to, or a hub.callback, the callback of your subscriptions."
    )
  }
  const count = yield* parameters.integer("count", Contract.retrieveCount)
  const before = yield* parameters.one("before")
  const after = yield* parameters.one("after")
  return {
    caller,
    count,
    ...(topic !== undefined && { topic }),
    ...(callback !== undefined && { callback }),
    ...(search !== undefined && { search: search.search }),
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after })
  } satisfies RetrieveRequest
})

export const retrieve = Effect.fnUntraced(function*(hub: Hub["Service"], call: Call) {
  const format = yield* wantedFormat(call.parameters, call.accept)
  const representation = yield* hub.retrieve(yield* retrieval(call))
  return yield* Representations.reply(representation, { ...call, ...format })
})

const replay = Effect.fnUntraced(function*(hub: Hub["Service"], { caller, parameters }: Call) {
  const topic = yield* parameters.one("hub.topic")
  const callback = yield* parameters.one("hub.callback")
  if (callback === undefined) {
    return yield* badParameter(
      "hub.callback",
      "Please provide a hub.callback: the callback of the subscription whose notification is wanted again."
    )
  }
  const count = yield* parameters.integer("count", Contract.replayCount)
  const async = yield* parameters.flag("async")
  yield* hub.replay({ caller, topic: topic ?? "", callback, count, async })
  return Reply.done
})

/** The topics that a ping names. */
export const publishedTopics = Effect.fnUntraced(function*(parameters: Parameters) {
  const sent = [...parameters.all("hub.url"), ...parameters.all("hub.topic")]
  // A comma ends a URL only where the next one starts: it may be a part of it.
  const topics = [...new Set(sent.flatMap((value) => value.split(/\s*,\s*(?=https?:\/\/)/i)).map((url) => url.trim()))]
  if (topics.length === 0) {
    return yield* badParameter(
      "hub.url",
      "Please provide a hub.url: the URL of the resource that has new content; it can be repeated."
    )
  }
  if (topics.length > maxPublished) {
    return yield* badParameter(
      "hub.url",
      `hub.url names ${topics.length} URLs; at most ${maxPublished} are accepted in one request.`
    )
  }
  return topics
})

const publish = Effect.fnUntraced(function*(hub: Hub["Service"], { caller, parameters, service }: Call) {
  const topics = yield* publishedTopics(parameters)
  const content = yield* contentOf(parameters, topics, service.publishers, service.usedContents)
  yield* hub.publish(topics, { accountId: caller.account.id, ...(content !== undefined && { content }) }).pipe(
    // it may be sent again
    Effect.tapError(() => Effect.sync(() => content !== undefined && service.usedContents.forget(content.body)))
  )
  return Reply.done
})

const authenticate = Effect.fnUntraced(function*(_hub: Hub["Service"], { caller, jsonp, parameters }: Call) {
  if (!(yield* parameters.flag("rights")) && jsonp === undefined) return Reply.done
  const granted = JSON.stringify(Object.fromEntries(rights.map((right) => [right, caller.rights.has(right)])))
  return jsonp === undefined ? Reply.json(granted) : Reply.script(jsonp, granted)
})

/** By `hub.mode`. */
export const operations: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["subscribe", { right: "subscribe", changes: true, run: subscribe }],
  ["unsubscribe", { right: "unsubscribe", changes: true, run: unsubscribe }],
  ["list", { right: "list", changes: false, run: list }],
  ["retrieve", { right: "retrieve", changes: false, run: retrieve }],
  // It sends something, but is a GET in the contract: it repeats what the callback has had already.
  ["replay", { right: "retrieve", changes: false, run: replay }],
  ["publish", { right: "publish", changes: true, run: publish }],
  ["authenticate", { right: undefined, changes: false, run: authenticate }]
])

/** PubSubHubbub 0.3 lets a subscriber send both words, in the order that it prefers. */
export const verification = Effect.fnUntraced(function*(parameters: Parameters) {
  const words = parameters.all("hub.verify").flatMap((value) => value.split(",")).map((word) =>
    word.trim().toLowerCase()
  )
  const verify = words.find((word) => word === "sync" || word === "async")
  if (verify === undefined && words.length > 0) {
    return yield* badParameter("hub.verify", `hub.verify can be sync or async; received ${quote(words.join(","))}.`)
  }
  const verifyToken = yield* bounded(parameters, "hub.verify_token", Contract.maxVerifyTokenLength)
  return { ...(verify !== undefined && { verify }), ...(verifyToken !== undefined && { verifyToken }) }
})

/** What was received stays out of the sentence: it can be a secret. */
export const bounded = (
  parameters: Parameters,
  name: string,
  maximum: number
): Effect.Effect<string | undefined, Refusal> =>
  Effect.flatMap(parameters.one(name), (value) => {
    const length = value === undefined ? 0 : Buffer.byteLength(value)
    return length > maximum
      ? Effect.fail(badParameter(name, `${name} has ${length} bytes; at most ${maximum} are accepted.`))
      : Effect.succeed(value)
  })

/** The search under a name (`search[feed][url]=…`), and how it was sent; undefined where there is none. */
const searchOf = Effect.fnUntraced(function*(parameters: Parameters, name: string) {
  if (name === "search" && parameters.all(name).length > 0) {
    return yield* badParameter(name, `search has to say what is searched: search[KEY]=…, where KEY is one of ${keys}.`)
  }
  const sent: Array<readonly [key: string, text: string]> = []
  for (const key of parameters.below(name)) {
    const text = yield* parameters.one(`${name}.${key}`)
    if (text !== undefined) sent.push([key, text])
  }
  if (sent.length === 0) return undefined
  return { search: yield* Effect.fromResult(Search.parse(sent, name)), sent: nested(sent) }
})

const keys = Search.keys.join(", ")

/** `feed.url` as `{feed: {url}}`; only keys that are known come here. */
const nested = (sent: ReadonlyArray<readonly [key: string, text: string]>) => {
  const tree: Record<string, string | Record<string, string>> = {}
  for (const [key, text] of sent) {
    const [group = "", name] = key.split(".")
    const below = tree[group]
    tree[group] = name === undefined ? text : { ...(typeof below === "object" && below), [name]: text }
  }
  return tree
}
