import type { Element } from "@xmpp/xml"
import { Result } from "effect"
import type { Format } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import * as Conditions from "./Conditions.ts"
import { copyText, getChildElements, getExtensionAttribute } from "./Elements.ts"
import * as Jid from "#domain/Jid.ts"
import { ns } from "./Namespaces.ts"

/** A resource and the JID of its subscription. `given` keeps the request's spelling, which the reply repeats. */
export interface SubscriptionRequest {
  readonly node: string
  readonly jid: { readonly given: string; readonly bare: string; readonly domain: string }
  readonly format?: Format
}

/** Content of an iq, parsed and checked without knowledge of the account. */
export type Request =
  | { readonly _tag: "Subscribe"; readonly subscriptions: ReadonlyArray<SubscriptionRequest> }
  | { readonly _tag: "Unsubscribe"; readonly subscriptions: ReadonlyArray<SubscriptionRequest> }
  | { readonly _tag: "List"; readonly jid: SubscriptionRequest["jid"] | undefined; readonly page: number }
  /** `itemIds` is empty for the newest items. */
  | {
    readonly _tag: "Retrieve"
    readonly node: string
    readonly count: number
    readonly itemIds: ReadonlyArray<string>
  }
  | { readonly _tag: "Info"; readonly node: string | undefined }
  | { readonly _tag: "Items"; readonly node: string | undefined }
  | { readonly _tag: "Ping" }

type Parsed<A> = Result.Result<A, Conditions.Condition>

/** Maximum of resources in a subscribe or unsubscribe request. */
const maxResources = 20

/** Maximum of items in a retrieve request. */
const maxItems = 10

/** Parses an iq of type get or set. `namespace` is the namespace of the extension. */
export const parseRequest = (iq: Element, namespace: string): Parsed<Request> => {
  const { type } = iq.attrs
  if (type !== "get" && type !== "set") {
    return Result.fail(
      Conditions.badRequest(`A request is an iq of type get or set; this one is ${describeType(type)}.`)
    )
  }
  const payloads = getChildElements(iq)
  const [payload] = payloads
  if (payload === undefined || payloads.length > 1) {
    return Result.fail(Conditions.badRequest(`An iq holds one request; this one holds ${payloads.length}.`))
  }
  if (payload.is("pubsub", ns.pubsub)) return readPubSub(payload, type, namespace)
  if (payload.is("pubsub", ns.owner)) return Result.fail(rejectVerb(getChildElements(payload)[0]?.getName() ?? "owner"))
  const question = readQuestion(payload)
  if (question === undefined) return Result.fail(rejectPayload(payload))
  return type === "get" ? Result.succeed(question) : Result.fail(wrongType(payload.getName(), "get"))
}

const describeType = (type: string | undefined): string =>
  type === undefined ? "without a type" : `of type ${Topic.quote(type)}`

/** Reads service discovery and ping; undefined for any other payload. */
const readQuestion = (payload: Element): Request | undefined => {
  const { node } = payload.attrs
  if (payload.is("query", ns.info)) return { _tag: "Info", node }
  if (payload.is("query", ns.items)) return { _tag: "Items", node }
  return payload.is("ping", ns.ping) ? { _tag: "Ping" } : undefined
}

const rejectPayload = (payload: Element): Conditions.Condition =>
  Conditions.serviceUnavailable(
    payload.getName() === "pubsub"
      ? wrongNamespace(payload)
      : `Nothing here answers to ${Topic.quote(payload.getName())}: feeds are subscribed to with XEP-0060.`
  )

const wrongNamespace = (element: Element): string =>
  `${Topic.quote(element.getName())} has the namespace ${Topic.quote(element.getNS() ?? "")}; ${
    Topic.quote(ns.pubsub)
  } is needed.`

const wrongType = (verb: string, type: "get" | "set") =>
  Conditions.badRequest(`${verb} belongs into an iq of type ${type}.`)

/** Supported verbs of XEP-0060, with the iq type of each verb. */
const verbs = { subscribe: "set", unsubscribe: "set", subscriptions: "get", items: "get" } as const

const isVerb = (name: string): name is keyof typeof verbs => Object.hasOwn(verbs, name)

const readPubSub = (pubsub: Element, type: "get" | "set", namespace: string): Parsed<Request> => {
  const children = getChildElements(pubsub)
  const parts = children.filter((child) => child.getNS() === ns.pubsub)
  const [first] = parts
  if (first === undefined) {
    return Result.fail(Conditions.badRequest(
      children[0] === undefined
        ? "The pubsub element is empty; subscribe, unsubscribe, subscriptions or items is needed."
        : wrongNamespace(children[0])
    ))
  }
  const names = new Set(parts.map((part) => part.getName()))
  const unserved = [...names].find((name) => !isVerb(name))
  if (unserved !== undefined) return Result.fail(rejectVerb(unserved))
  if (names.size > 1) {
    return Result.fail(
      Conditions.badRequest(
        `A request has elements of one name; here are ${[...names].join(" and ")}. Send a request for each name.`
      )
    )
  }
  const verb = first.getName()
  if (!isVerb(verb)) return Result.fail(rejectVerb(verb))
  if (verbs[verb] !== type) return Result.fail(wrongType(verb, verbs[verb]))
  switch (verb) {
    case "subscribe":
    case "unsubscribe": {
      const _tag = verb === "subscribe" ? "Subscribe" : "Unsubscribe"
      return Result.map(readSubscriptions(parts, namespace), (subscriptions) => ({ _tag, subscriptions }))
    }
    case "subscriptions":
      return readList(first, namespace)
    case "items":
      return readRetrieve(first)
  }
}

/** Feature names of XEP-0060 for its other verbs. */
const features: Readonly<Record<string, string>> = {
  affiliations: "retrieve-affiliations",
  configure: "config-node",
  create: "create-nodes",
  default: "retrieve-default",
  delete: "delete-nodes",
  options: "subscription-options",
  owner: "owner",
  publish: "publish",
  "publish-options": "publish-options",
  purge: "purge-nodes",
  retract: "retract-items",
  subscriptions: "manage-subscriptions"
}

/** Rejects a verb of XEP-0060 that Windhover does not serve, or a name that XEP-0060 does not know. */
const rejectVerb = (verb: string): Conditions.Condition => {
  const feature = Object.hasOwn(features, verb) ? features[verb] : undefined
  const sentence = `${Topic.quote(verb)} is not served here; subscribe, unsubscribe, subscriptions and items are.`
  return feature === undefined ? Conditions.badRequest(sentence) : Conditions.unsupported(feature, sentence)
}

const readSubscriptions = (
  parts: ReadonlyArray<Element>,
  namespace: string
): Parsed<ReadonlyArray<SubscriptionRequest>> => {
  if (parts.length > maxResources) {
    return Result.fail(
      Conditions.notAcceptable(
        `This request names ${parts.length} resources; at most ${maxResources} are taken at once. Send several requests.`
      )
    )
  }
  return Result.flatMap(Result.all(parts.map((part) => readSubscription(part, namespace))), (subscriptions) => {
    const [first] = subscriptions
    const other = subscriptions.find(({ jid }) => jid.bare !== first?.jid.bare)
    return other === undefined ? Result.succeed(subscriptions) : Result.fail(
      Conditions.invalidJid(
        `All resources of a request have the same jid; here are ${Topic.quote(first?.jid.given ?? "")} and ${
          Topic.quote(other.jid.given)
        }.`
      )
    )
  })
}

const readSubscription = (part: Element, namespace: string): Parsed<SubscriptionRequest> =>
  Result.gen(function*() {
    const node = yield* readNode(part)
    const given = part.attrs["jid"] ?? ""
    if (given === "") {
      yield* Result.fail(Conditions.jidRequired("A jid is needed: the address that notifications are to go to."))
    }
    const jid = yield* readJid(given)
    const format = yield* readFormat(getExtensionAttribute(part, "format", namespace))
    return { node, jid, ...(format === undefined ? {} : { format }) }
  })

const readNode = (part: Element): Parsed<string> => {
  const node = copyText(part.attrs["node"] ?? "")
  if (node === "") return Result.fail(Conditions.nodeRequired("A node is needed: the URL of a resource."))
  const topic = Topic.parse(node, "node")
  return Result.isSuccess(topic) ? Result.succeed(node) : Result.fail(Conditions.toCondition(topic.failure.reason))
}

const readJid = (given: string): Parsed<SubscriptionRequest["jid"]> => {
  const jid = Jid.parse(given)
  return jid === undefined
    ? Result.fail(Conditions.jidMalformed(`${Topic.quote(given)} is no JID; one such as login@example.org is needed.`))
    : Result.succeed({ given, bare: copyText(Jid.bare(jid)), domain: jid.domain })
}

const readFormat = (given: string | undefined): Parsed<Format | undefined> => {
  if (given === undefined || given === "") return Result.succeed(undefined)
  const format = given.toLowerCase()
  return format === "atom" || format === "json"
    ? Result.succeed(format)
    : Result.fail(Conditions.invalidFormat(`The format ${Topic.quote(given)} is not known; atom and json are.`))
}

const readList = (part: Element, namespace: string): Parsed<Request> => {
  const page = getExtensionAttribute(part, "page", namespace) ?? "1"
  if (!/^\s*[+-]?\d{1,9}\s*$/.test(page)) {
    return Result.fail(Conditions.badRequest(`page is ${Topic.quote(page)}; a whole number from 1 is needed.`))
  }
  const given = part.attrs["jid"] ?? ""
  const jid = given === "" ? Result.succeed(undefined) : readJid(given)
  return Result.map(jid, (jid) => ({ _tag: "List", jid, page: Math.max(1, Number(page)) }))
}

const readRetrieve = (part: Element): Parsed<Request> =>
  Result.gen(function*() {
    const node = yield* readNode(part)
    const itemIds = yield* readItemIds(part)
    const given = part.attrs["max_items"] ?? ""
    const count = /^\d{1,9}$/.test(given) ? Number(given) : maxItems
    return { _tag: "Retrieve", node, count: Math.min(Math.max(count, 1), maxItems), itemIds }
  })

/** Reads the ids of requested items, each once. */
const readItemIds = (part: Element): Parsed<ReadonlyArray<string>> => {
  const ids = new Set<string>()
  for (const item of getChildElements(part)) {
    if (!item.is("item", ns.pubsub)) continue
    const { id = "" } = item.attrs
    if (id === "") return Result.fail(Conditions.badRequest("An item of a request needs an id."))
    ids.add(id)
  }
  return ids.size <= maxItems ? Result.succeed([...ids]) : Result.fail(
    Conditions.notAcceptable(
      `This request names ${ids.size} items; at most ${maxItems} are sent at once. Send several requests.`
    )
  )
}
