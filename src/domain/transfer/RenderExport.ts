import { bare, parse as parseJid } from "#domain/Jid.ts"
import { renderAttribute } from "#domain/render/Xml.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { maskCredentials } from "#domain/UrlCredentials.ts"
import type { SubscriptionLine } from "./JsonItem.ts"
import { attributes, namespace } from "./OpmlNames.ts"

/** A subscription of an export, with the title and page of its feed where these are known. */
export interface ExportedSubscription {
  readonly line: SubscriptionLine
  readonly title?: string
  readonly page?: string
}

/**
 * The line of a subscription. Without `hasSecrets`, its secret, its headers and the passwords of its URLs are left out.
 *
 * Ids, times and the state of deliveries are left out as well, because they belong to one service.
 */
export const lineOf = (subscription: Subscription, hasSecrets: boolean): SubscriptionLine => {
  const { channel, endpoint, feedsOnly, format, headers, labels, retry, secret, state, topic } = subscription
  const url = hasSecrets ? (text: string) => text : maskCredentials
  return {
    type: "subscription",
    topic: url(topic),
    ...(channel === "webhook" && { callback: url(endpoint) }),
    ...(channel === "xmpp" && { jid: endpoint }),
    ...(channel === "null" && { null: new URL(endpoint).search }),
    ...(format !== undefined && { format }),
    ...(feedsOnly === true && { feedsOnly }),
    ...(hasSecrets && secret !== undefined && { secret }),
    ...(hasSecrets && headers !== undefined && { headers }),
    ...(retry !== undefined && { retry }),
    ...(state === "paused" && { state }),
    ...(labels !== undefined && { labels })
  }
}

/** The JID of an endpoint; undefined for a URL. */
export const jidOf = (endpoint: string): string | undefined => {
  if (/^https?:\/\//i.test(endpoint)) return undefined
  const jid = parseJid(endpoint)
  return jid === undefined ? undefined : bare(jid)
}

export const opmlHead = (title: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<opml version="2.0" xmlns:windhover="${namespace}">\n<head><title>${
    title.replace(/[<>&]/g, "")
  }</title></head>\n<body>\n`

export const opmlTail = "</body>\n</opml>\n"

/** The start of a folder: the first label of the subscriptions in it. */
export const renderFolder = (label: string): string =>
  `<outline${renderAttribute("text", label)}${renderAttribute("title", label)}>\n`

export const folderEnd = "</outline>\n"

/** An outline with the settings of its subscription. Secrets and headers have no place in OPML. */
export const renderOutline = ({ line, page, title }: ExportedSubscription): string => {
  const { labels = [] } = line
  const categories = labels.filter((label) => !label.includes(",")).join(",")
  const shown = title === undefined || title === "" ? line.topic : title
  return [
    "<outline type=\"rss\"",
    renderAttribute("text", shown),
    renderAttribute("title", shown),
    renderAttribute("xmlUrl", line.topic),
    renderAttribute("htmlUrl", page),
    renderAttribute("category", categories === "" ? undefined : categories),
    renderAttribute(attributes.labels, labels.length === 0 ? undefined : JSON.stringify(labels)),
    renderAttribute(attributes.callback, line.callback),
    renderAttribute(attributes.jid, line.jid),
    renderAttribute(attributes.null, line.null),
    renderAttribute(attributes.format, line.format),
    renderAttribute(attributes.feedsOnly, line.feedsOnly === true ? "true" : undefined),
    renderAttribute(attributes.retry, line.retry),
    renderAttribute(attributes.state, line.state),
    "/>\n"
  ].join("")
}
