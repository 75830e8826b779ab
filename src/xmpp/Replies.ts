import type { Element } from "@xmpp/xml"
import { renderAttribute, renderEach, renderElement } from "#domain/render/Xml.ts"
import type { Status } from "#domain/poll/Status.ts"
import { renderBriefStatus } from "./BriefStatus.ts"
import type { Condition } from "./Conditions.ts"
import { ns } from "./Namespaces.ts"

/** Attributes of a reply: the addresses of the request in reverse, and its id. */
const renderAddresses = ({ attrs }: Element): string =>
  renderAttribute("from", attrs["to"]) + renderAttribute("to", attrs["from"]) + renderAttribute("id", attrs["id"])

export const renderResult = (iq: Element, payload = ""): string =>
  payload === ""
    ? `<iq type="result"${renderAddresses(iq)}/>`
    : `<iq type="result"${renderAddresses(iq)}>${payload}</iq>`

/** Reply to a presence. A subscription or a probe gets the component's presence; any other presence gets no reply, which prevents loops. */
export const answerPresence = (presence: Element): string => {
  const { from, to, type } = presence.attrs
  const renderPresence = (type?: string) =>
    `<presence${renderAttribute("from", to)}${renderAttribute("to", from)}${renderAttribute("type", type)}/>`
  switch (type) {
    case "subscribe":
      return renderPresence("subscribed") + renderPresence()
    case "unsubscribe":
      return renderPresence("unsubscribed")
    case "probe":
      return renderPresence()
    default:
      return ""
  }
}

/** Reply to a message with a text, of the same type and in the same thread. */
export const answerChat = (message: Element, text: string): string => {
  const { from, to, type } = message.attrs
  const thread = message.getChildText("thread") ?? undefined
  return `<message${renderAttribute("type", type)}${renderAttribute("from", to)}${renderAttribute("to", from)}>` +
    `${renderElement("body", text, " xml:lang=\"en\"")}${renderElement("thread", thread)}</message>`
}

/** Renders an error without a copy of the request, which may be large. */
export const renderError = (iq: Element, { detail, name, text, type }: Condition): string =>
  `<iq type="error"${renderAddresses(iq)}><error${renderAttribute("type", type)}>` +
  `<${name} xmlns="${ns.stanzaErrors}"/>` +
  renderElement("text", text, `${renderAttribute("xmlns", ns.stanzaErrors)} xml:lang="en"`) +
  (detail === undefined
    ? ""
    : `<${detail.name} xmlns="${ns.pubsubErrors}"${renderAttribute("feature", detail.feature)}/>`) +
  "</error></iq>"

/** A subscription in a reply. */
export interface SubscriptionItem {
  readonly node: string
  readonly jid: string
  readonly status: Status
}

/** Renderers of statuses, the longest form first: with all texts, with short texts, without a status. */
const statusRenderers: ReadonlyArray<(status: Status, extNamespace: string) => string> = [
  renderBriefStatus,
  (status, extNamespace) => renderBriefStatus(status, extNamespace, 60),
  () => ""
]

/** Renders subscriptions in at most `maxBytes` bytes if one of the forms fits. Twenty long URLs alone may fill a stanza. */
const renderSubscriptions = (
  subscriptions: ReadonlyArray<SubscriptionItem>,
  extNamespace: string,
  maxBytes: number
): string => {
  let written = ""
  for (const statusXml of statusRenderers) {
    written = renderEach(
      subscriptions,
      ({ jid, node, status }) =>
        `<subscription${renderAttribute("node", node)}${renderAttribute("jid", jid)} subscription="subscribed">` +
        `${statusXml(status, extNamespace)}</subscription>`
    )
    if (Buffer.byteLength(written) <= maxBytes) break
  }
  return written
}

/** Maximum of bytes around the subscriptions of a reply. */
const maxSurroundingBytes = 1_024

export const renderSubscribeResult = (
  subscriptions: ReadonlyArray<SubscriptionItem>,
  extNamespace: string,
  maxBytes: number
): string =>
  `<pubsub xmlns="${ns.pubsub}">${
    renderSubscriptions(subscriptions, extNamespace, maxBytes - maxSurroundingBytes)
  }</pubsub>`

/** Uses the prefix of the published clients, because some clients look up the attribute by the prefix. */
export const renderListResult = (
  subscriptions: ReadonlyArray<SubscriptionItem>,
  page: number,
  extNamespace: string,
  maxBytes: number
): string =>
  `<pubsub xmlns="${ns.pubsub}"${renderAttribute("xmlns:superfeedr", extNamespace)}>` +
  `<subscriptions${renderAttribute("superfeedr:page", page)}>` +
  `${renderSubscriptions(subscriptions, extNamespace, maxBytes - maxSurroundingBytes)}</subscriptions></pubsub>`

/** `items` is rendered XML; empty for a resource without a subscription. */
export const renderRetrieveResult = (node: string, items: string): string =>
  `<pubsub xmlns="${ns.pubsub}"><items${renderAttribute("node", node)}>${items}</items></pubsub>`

/** Describes the component or, with a node, a subscribed resource. */
export const renderDiscoInfo = (node: string | undefined, name: string, extNamespace: string): string => {
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

/** Always empty: subscriptions are private to an account, and clients request the list with `subscriptions`. */
export const renderDiscoItems = (node: string | undefined): string =>
  `<query xmlns="${ns.items}"${renderAttribute("node", node)}/>`
