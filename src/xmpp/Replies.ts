import type { Element } from "@xmpp/xml"
import { attribute, each, element } from "#domain/render/Xml.ts"
import type { Status } from "#domain/poll/Status.ts"
import { briefStatusXml } from "./BriefStatus.ts"
import type { Condition } from "./Conditions.ts"
import { ns } from "./Namespaces.ts"

/** Where an answer goes: the addresses of the request, turned round, and its id. */
const addresses = ({ attrs }: Element): string =>
  attribute("from", attrs["to"]) + attribute("to", attrs["from"]) + attribute("id", attrs["id"])

export const result = (iq: Element, payload = ""): string =>
  payload === "" ? `<iq type="result"${addresses(iq)}/>` : `<iq type="result"${addresses(iq)}>${payload}</iq>`

/** What a presence is answered with: whoever wants ours gets it, once; nothing else, so that no answer is answered. */
export const presences = (presence: Element): string => {
  const { from, to, type } = presence.attrs
  const one = (type?: string) => `<presence${attribute("from", to)}${attribute("to", from)}${attribute("type", type)}/>`
  switch (type) {
    case "subscribe":
      return one("subscribed") + one()
    case "unsubscribe":
      return one("unsubscribed")
    case "probe":
      return one()
    default:
      return ""
  }
}

/** The request is not repeated in it: whoever sent it has it, and it may be large. */
export const error = (iq: Element, { detail, name, text, type }: Condition): string =>
  `<iq type="error"${addresses(iq)}><error${attribute("type", type)}>` +
  `<${name} xmlns="${ns.stanzaErrors}"/>` +
  element("text", text, `${attribute("xmlns", ns.stanzaErrors)} xml:lang="en"`) +
  (detail === undefined
    ? ""
    : `<${detail.name} xmlns="${ns.pubsubErrors}"${attribute("feature", detail.feature)}/>`) +
  "</error></iq>"

/** A subscription as answers show it. */
export interface Subscribed {
  readonly node: string
  readonly jid: string
  readonly status: Status
}

/** How statuses are written, at length first: then with short texts, and at last not at all. */
const statuses: ReadonlyArray<(status: Status, extNamespace: string) => string> = [
  briefStatusXml,
  (status, extNamespace) => briefStatusXml(status, extNamespace, 60),
  () => ""
]

/** Subscriptions in at most `room` bytes, if there is a way to write them so: twenty long URLs may take all that a stanza holds. */
const subscriptionsXml = (subscriptions: ReadonlyArray<Subscribed>, extNamespace: string, room: number): string => {
  let written = ""
  for (const statusXml of statuses) {
    written = each(
      subscriptions,
      ({ jid, node, status }) =>
        `<subscription${attribute("node", node)}${attribute("jid", jid)} subscription="subscribed">` +
        `${statusXml(status, extNamespace)}</subscription>`
    )
    if (Buffer.byteLength(written) <= room) break
  }
  return written
}

/** Bytes around the subscriptions of an answer, at most. */
const around = 1_024

export const subscribed = (subscriptions: ReadonlyArray<Subscribed>, extNamespace: string, room: number): string =>
  `<pubsub xmlns="${ns.pubsub}">${subscriptionsXml(subscriptions, extNamespace, room - around)}</pubsub>`

/** The prefix is the one of the published clients: some look the attribute up by it. */
export const listed = (
  subscriptions: ReadonlyArray<Subscribed>,
  page: number,
  extNamespace: string,
  room: number
): string =>
  `<pubsub xmlns="${ns.pubsub}"${attribute("xmlns:superfeedr", extNamespace)}>` +
  `<subscriptions${attribute("superfeedr:page", page)}>` +
  `${subscriptionsXml(subscriptions, extNamespace, room - around)}</subscriptions></pubsub>`

/** `items` are rendered already; none is what an answer about a resource that is not subscribed holds. */
export const retrieved = (node: string, items: string): string =>
  `<pubsub xmlns="${ns.pubsub}"><items${attribute("node", node)}>${items}</items></pubsub>`

/** What the component is and can, or, with a node, what a subscribed resource is. */
export const info = (node: string | undefined, name: string, extNamespace: string): string => {
  const features = node === undefined ? [...componentFeatures, extNamespace] : leafFeatures
  return `<query xmlns="${ns.info}"${attribute("node", node)}>` +
    `<identity category="pubsub"${attribute("type", node === undefined ? "service" : "leaf")}${
      attribute("name", name)
    }/>` +
    `${each(features, (feature) => `<feature${attribute("var", feature)}/>`)}</query>`
}

const componentFeatures = [
  ns.info,
  ns.items,
  ns.ping,
  ns.pubsub,
  `${ns.pubsub}#retrieve-items`,
  `${ns.pubsub}#retrieve-subscriptions`,
  `${ns.pubsub}#subscribe`
]

const leafFeatures = [ns.info, ns.pubsub]

/** What is below the component is each account's own, and is asked for with `subscriptions`. */
export const noItems = (node: string | undefined): string => `<query xmlns="${ns.items}"${attribute("node", node)}/>`
