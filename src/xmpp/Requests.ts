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
  | { readonly _tag: "Retrieve"; readonly node: string; readonly count: number }
  | { readonly _tag: "Info"; readonly node: string | undefined }
  | { readonly _tag: "Items"; readonly node: string | undefined }
  | { readonly _tag: "Ping" }

type Read<A> = Result.Result<A, Conditions.Condition>

/** Maximum of resources in a subscribe or unsubscribe request. */
const maxResources = 20

/** Maximum of items in a retrieve request. */
const maxItems = 10

/** Parses an iq of type get or set. `namespace` is the namespace of the extension. */
export const parseRequest = (iq: Element, namespace: string): Read<Request> => {
  const payloads = getChildElements(iq)
  const [payload] = payloads
  if (payload === undefined || payloads.length > 1) {
    return Result.fail(Conditions.badRequest(`An iq holds one request; this one holds ${payloads.length}.`))
  }
  const get = iq.attrs["type"] === "get"
  if (payload.is("pubsub", ns.pubsub)) return readPubSub(payload, get, namespace)
  if (payload.is("pubsub", ns.owner)) return Result.fail(refused(getChildElements(payload)[0]?.getName() ?? "owner"))
  if (get && payload.is("query", ns.info)) return Result.succeed({ _tag: "Info", node: payload.attrs["node"] })
  if (get && payload.is("query", ns.items)) return Result.succeed({ _tag: "Items", node: payload.attrs["node"] })
  if (get && payload.is("ping", ns.ping)) return Result.succeed({ _tag: "Ping" })
  return Result.fail(
    Conditions.serviceUnavailable(
      `Nothing here answers to ${Topic.quote(payload.getName())}: feeds are subscribed to with XEP-0060.`
    )
  )
}

/** Supported verbs of XEP-0060, with the iq type of each verb. */
const verbs = { subscribe: "set", unsubscribe: "set", subscriptions: "get", items: "get" } as const

const isVerb = (name: string): name is keyof typeof verbs => Object.hasOwn(verbs, name)

const readPubSub = (pubsub: Element, get: boolean, namespace: string): Read<Request> => {
  const parts = getChildElements(pubsub).filter((child) => child.getNS() === ns.pubsub)
  const [first] = parts
  if (first === undefined) {
    return Result.fail(
      Conditions.badRequest("The pubsub element is empty; subscribe, unsubscribe, subscriptions or items is needed.")
    )
  }
  const verb = first.getName()
  const other = parts.find((part) => part.getName() !== verb)?.getName()
  if (!isVerb(verb)) return Result.fail(refused(verb))
  if (other !== undefined) return Result.fail(refused(other))
  if (verbs[verb] !== (get ? "get" : "set")) {
    return Result.fail(Conditions.badRequest(`${verb} belongs into an iq of type ${verbs[verb]}.`))
  }
  switch (verb) {
    case "subscribe":
      return Result.map(readWanted(parts, namespace), (subscriptions) => ({ _tag: "Subscribe", subscriptions }))
    case "unsubscribe":
      return Result.map(readWanted(parts, namespace), (subscriptions) => ({ _tag: "Unsubscribe", subscriptions }))
    case "subscriptions":
      return readList(first, namespace)
    case "items":
      return readRetrieve(first)
  }
}

/** XEP-0060's names of features, where the name differs from the verb. */
const features: Readonly<Record<string, string>> = {
  affiliations: "retrieve-affiliations",
  configure: "config-node",
  create: "create-nodes",
  default: "retrieve-default",
  delete: "delete-nodes",
  options: "subscription-options",
  purge: "purge-nodes",
  retract: "retract-items"
}

const refused = (verb: string): Conditions.Condition =>
  Conditions.unsupported(
    (Object.hasOwn(features, verb) ? features[verb] : undefined) ?? verb,
    `${Topic.quote(verb)} is not served here; subscribe, unsubscribe, subscriptions and items are.`
  )

const readWanted = (parts: ReadonlyArray<Element>, namespace: string): Read<ReadonlyArray<SubscriptionRequest>> => {
  if (parts.length > maxResources) {
    return Result.fail(
      Conditions.notAcceptable(
        `This request names ${parts.length} resources; at most ${maxResources} are taken at once. Send several requests.`
      )
    )
  }
  const wanted: Array<SubscriptionRequest> = []
  for (const part of parts) {
    const one = readOne(part, namespace)
    if (Result.isFailure(one)) return Result.fail(one.failure)
    wanted.push(one.success)
  }
  const [first] = wanted
  const stranger = wanted.find(({ jid }) => jid.bare !== first?.jid.bare)
  return stranger === undefined ? Result.succeed(wanted) : Result.fail(
    Conditions.invalidJid(
      `All resources of a request have the same jid; here are ${Topic.quote(first?.jid.given ?? "")} and ${
        Topic.quote(stranger.jid.given)
      }.`
    )
  )
}

const readOne = (part: Element, namespace: string): Read<SubscriptionRequest> => {
  const node = readNode(part)
  if (Result.isFailure(node)) return Result.fail(node.failure)
  const given = part.attrs["jid"] ?? ""
  if (given === "") {
    return Result.fail(Conditions.jidRequired("A jid is needed: the address that notifications are to go to."))
  }
  const jid = readJid(given)
  if (Result.isFailure(jid)) return Result.fail(jid.failure)
  const format = readFormat(getExtensionAttribute(part, "format", namespace))
  if (Result.isFailure(format)) return Result.fail(format.failure)
  return Result.succeed({
    node: node.success,
    jid: jid.success,
    ...(format.success === undefined ? {} : { format: format.success })
  })
}

const readNode = (part: Element): Read<string> => {
  const node = copyText(part.attrs["node"] ?? "")
  if (node === "") return Result.fail(Conditions.nodeRequired("A node is needed: the URL of a resource."))
  const topic = Topic.parse(node, "node")
  return Result.isSuccess(topic) ? Result.succeed(node) : Result.fail(Conditions.toCondition(topic.failure.reason))
}

const readJid = (given: string): Read<SubscriptionRequest["jid"]> => {
  const jid = Jid.parse(given)
  return jid === undefined
    ? Result.fail(Conditions.invalidJid(`${Topic.quote(given)} is no JID; one such as login@example.org is needed.`))
    : Result.succeed({ given, bare: copyText(Jid.bare(jid)), domain: jid.domain })
}

const readFormat = (given: string | undefined): Read<Format | undefined> => {
  if (given === undefined || given === "") return Result.succeed(undefined)
  const format = given.toLowerCase()
  return format === "atom" || format === "json"
    ? Result.succeed(format)
    : Result.fail(Conditions.invalidFormat(`The format ${Topic.quote(given)} is not known; atom and json are.`))
}

const readList = (part: Element, namespace: string): Read<Request> => {
  const page = getExtensionAttribute(part, "page", namespace) ?? "1"
  if (!/^\s*[+-]?\d{1,9}\s*$/.test(page)) {
    return Result.fail(Conditions.badRequest(`page is ${Topic.quote(page)}; a whole number from 1 is needed.`))
  }
  const given = part.attrs["jid"] ?? ""
  const jid = given === "" ? Result.succeed(undefined) : readJid(given)
  return Result.map(jid, (jid) => ({ _tag: "List", jid, page: Math.max(1, Number(page)) }))
}

const readRetrieve = (part: Element): Read<Request> => {
  const wanted = part.attrs["max_items"]
  const count = wanted !== undefined && /^\d{1,9}$/.test(wanted) ? Number(wanted) : maxItems
  return Result.map(readNode(part), (node) => ({
    _tag: "Retrieve",
    node,
    count: Math.min(Math.max(count, 1), maxItems)
  }))
}
