import type { Element } from "@xmpp/xml"
import { renderAttribute, renderEach, renderElement } from "#domain/render/Xml.ts"
import type { Status } from "#domain/poll/Status.ts"
import { renderBriefStatus } from "./BriefStatus.ts"
import type { Condition } from "./Conditions.ts"
import { ns } from "./Namespaces.ts"

/** Where an answer goes: the addresses of the request, turned round, and its id. */
const addresses = ({ attrs }: Element): string =>
  renderAttribute("from", attrs["to"]) + renderAttribute("to", attrs["from"]) + renderAttribute("id", attrs["id"])

export const result = (iq: Element, payload = ""): string =>
  payload === "" ? `<iq type="result"${addresses(iq)}/>` : `<iq type="result"${addresses(iq)}>${payload}</iq>`

/** What a presence is answered with: whoever wants ours gets it, once; nothing else, so that no answer is answered. */
export const answerPresence = (presence: Element): string => {
  const { from, to, type } = presence.attrs
  const one = (type?: string) =>
    `<presence${renderAttribute("from", to)}${renderAttribute("to", from)}${renderAttribute("type", type)}/>`
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
  `<iq type="error"${addresses(iq)}><error${renderAttribute("type", type)}>` +
  `<${name} xmlns="${ns.stanzaErrors}"/>` +
  renderElement("text", text, `${renderAttribute("xmlns", ns.stanzaErrors)} xml:lang="en"`) +
  (detail === undefined
    ? ""
    : `<${detail.name} xmlns="${ns.pubsubErrors}"${renderAttribute("feature", detail.feature)}/>`) +
  "</error></iq>"

/** A subscription as answers show it. */
export interface SubscriptionItem {
  readonly node: string
  readonly jid: string
  readonly status: Status
}

/** How statuses are written, at length first: then with short texts, and at last not at all. */
const statuses: ReadonlyArray<(status: Status, extNamespace: string) => string> = [
  renderBriefStatus,
  (status, extNamespace) => renderBriefStatus(status, extNamespace, 60),
  () => ""
]

/** Subscriptions in at most `room` bytes, if there is a way to write them so: twenty long URLs may take all that a stanza holds. */
const subscriptionsXml = (
  subscriptions: ReadonlyArray<SubscriptionItem>,
  extNamespace: string,
  room: number
): string => {
  let written = ""
  for (const statusXml of statuses) {
    written = renderEach(
      subscriptions,
      ({ jid, node, status }) =>
        `<subscription${renderAttribute("node", node)}${renderAttribute("jid", jid)} subscription="subscribed">` +
        `${statusXml(status, extNamespace)}</subscription>`
    )
    if (Buffer.byteLength(written) <= room) break
  }
  return written
}

/** Bytes around the subscriptions of an answer, at most. */
const around = 1_024

export const subscribeResult = (
  subscriptions: ReadonlyArray<SubscriptionItem>,
  extNamespace: string,
  room: number
): string => `<pubsub xmlns="${ns.pubsub}">${subscriptionsXml(subscriptions, extNamespace, room - around)}</pubsub>`

/** The prefix is the one of the published clients: some look the attribute up by it. */
export const listResult = (
  subscriptions: ReadonlyArray<SubscriptionItem>,
  page: number,
  extNamespace: string,
  room: number
): string =>
  `<pubsub xmlns="${ns.pubsub}"${renderAttribute("xmlns:superfeedr", extNamespace)}>` +
  `<subscriptions${renderAttribute("superfeedr:page", page)}>` +
  `${subscriptionsXml(subscriptions, extNamespace, room - around)}</subscriptions></pubsub>`

/** `items` are rendered already; none is what an answer about a resource that is not subscribed holds. */
export const retrieveResult = (node: string, items: string): string =>
  `<pubsub xmlns="${ns.pubsub}"><items${renderAttribute("node", node)}>${items}</items></pubsub>`

/** What the component is and can, or, with a node, what a subscribed resource is. */
export const discoInfo = (node: string | undefined, name: string, extNamespace: string): string => {
  const features = node === undefined ? [...componentFeatures, extNamespace] : leafFeatures
  return `<query xmlns="${ns.info}"${renderAttribute("node", node)}>` +
    `<identity category="pubsub"${renderAttribute("type", node === undefined ? "service" : "leaf")}${
      renderAttribute("name", name)
    }/>` +
    `${renderEach(features, (feature) => `<feature${renderAttribute("var", feature)}/>`)}</query>`
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
export const discoItems = (node: string | undefined): string =>
  `<query xmlns="${ns.items}"${renderAttribute("node", node)}/>`
