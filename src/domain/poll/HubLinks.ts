import type { Link } from "#domain/feed/Entry.ts"
import { type FeedHeader, getLinks } from "#domain/feed/Feed.ts"
import { withoutFragment } from "./Fragment.ts"
import { parseLinkHeader } from "#domain/websub/LinkHeader.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import type { ResourceState } from "./Resource.ts"
import { hasControlCharacter, maxTopicLength } from "#domain/Topic.ts"

/** The hubs that a resource advertises. */
export interface HubLinks {
  /** In the publisher's order, hubs of the Link header first. */
  readonly hubs: ReadonlyArray<string>
  /** The name of the resource at its hubs. */
  readonly topic: string
}

/** Maximum of hubs of one resource. */
const maxHubs = 5

/**
 * Adds the `hub` and `self` links of the Link header before the links of the document.
 *
 * @see https://www.w3.org/TR/websub/#discovery
 */
export const withHeaderLinks = (header: FeedHeader, answer: Fetched): FeedHeader => {
  const named = parseLinkHeader(answer.headers["link"], answer.finalUrl).filter(({ rel }) =>
    rel === "hub" || rel === "self"
  )
  if (named.length === 0) return header
  const others = (header.links ?? []).filter((link) =>
    !named.some((one) => one.rel === link.rel && one.href === link.href)
  )
  return { ...header, links: [...named.map(({ href, rel }) => ({ href, rel })), ...others] }
}

/** The header of a pushed document. Its hubs come from the last fetch, because a pushed document may be cut short. */
export const withKnownHubLinks = (previous: FeedHeader | undefined, header: FeedHeader): FeedHeader => {
  const isOwn = ({ rel }: Link) => rel === "hub" || rel === "self"
  const links = [...(previous?.links ?? []).filter(isOwn), ...(header.links ?? []).filter((link) => !isOwn(link))]
  return { ...previous, ...header, links }
}

/** The header of a document other than a feed: its links only; undefined without links. */
export const documentHeader = (links: ReadonlyArray<Link> | undefined, answer: Fetched): FeedHeader | undefined => {
  const header = withHeaderLinks(links === undefined ? {} : { links }, answer)
  return header.links === undefined ? undefined : header
}

/** Whether the known header or the Link header of an answer names a hub. */
export const hasHub = (known: FeedHeader | undefined, answer: Fetched): boolean =>
  getLinks(known?.links, "hub").length > 0 ||
  getLinks(parseLinkHeader(answer.headers["link"], answer.finalUrl), "hub").length > 0

/** The usable hubs of a resource. A topic with credentials has none, because a hub must not learn these credentials. */
export const hubLinksOf = ({ header, url }: Pick<ResourceState, "header" | "url">): HubLinks | undefined => {
  if (hasCredentials(url)) return undefined
  const hubs = getLinks(header?.links, "hub").flatMap(({ href }) => usableHubUrl(href) ?? [])
  if (hubs.length === 0) return undefined
  const self = getLinks(header?.links, "self").find(({ href }) => parseWebUrl(href) !== undefined)
  return { hubs: [...new Set(hubs)].slice(0, maxHubs), topic: self?.href ?? withoutFragment(url) }
}

/**
 * Whether the hubs push the document of this resource: the topic is its URL, or the target of its permanent redirect.
 *
 * Other documents name a foreign topic: pages the feed of their site, and generated feeds their source.
 */
export const isItsOwnTopic = (resource: Pick<ResourceState, "header" | "serverProfile" | "url">): boolean => {
  const { serverProfile, url } = resource
  const topic = hubLinksOf(resource)?.topic
  if (topic === undefined || withoutFragment(url) !== url) return false
  return [url, serverProfile?.permanentRedirect?.to].some((own) =>
    own !== undefined && comparableUrl(own) === comparableUrl(topic)
  )
}

/** The URL without its scheme, the dot behind the host and the slash behind the path. */
const comparableUrl = (address: string): string => {
  const { hostname, pathname, port, search } = new URL(address)
  return `${hostname.replace(/\.$/, "")}:${port}${pathname.replace(/\/$/, "")}${search}`
}

/** The feeds that a page advertises. Feeds and parts of pages advertise none. */
export const feedsOf = ({ header, kind }: Pick<ResourceState, "header" | "kind">): ReadonlyArray<string> =>
  kind === "other" ? [...new Set(getLinks(header?.links, "alternate").map(({ href }) => href))] : []

/** Maximum of characters of a hub URL. */
const maxHubUrlLength = 1024

/** The URL of a usable hub. A hub URL with credentials is not used. */
const usableHubUrl = (href: string): string | undefined => {
  const url = parseWebUrl(href)
  return url === undefined || hasCredentials(url) || url.href.length > maxHubUrlLength ? undefined : url.href
}

const hasCredentials = (url: string | URL): boolean => {
  const { password, username } = new URL(url)
  return username !== "" || password !== ""
}

const parseWebUrl = (href: string): URL | undefined => {
  if (href.length > maxTopicLength || hasControlCharacter(href) || !href.isWellFormed()) return undefined
  const url = URL.parse(href)
  return url !== null && /^https?:$/.test(url.protocol) ? url : undefined
}
