import type { Link } from "#domain/feed/Entry.ts"
import { type FeedHeader, getLinks } from "#domain/feed/Feed.ts"
import { withoutFragment } from "./Fragment.ts"
import { parseLinkHeader } from "#domain/websub/LinkHeader.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import type { ResourceState } from "./Resource.ts"
import { hasControlCharacter, maxTopicLength } from "#domain/Topic.ts"

/** Where a publisher says that its news are pushed from. */
export interface HubLinks {
  /** In the publisher's order: what its Link header names comes first. */
  readonly hubs: ReadonlyArray<string>
  /** What the hubs know the resource as. */
  readonly topic: string
}

/** Hubs of one resource that are kept. */
const maxHubs = 5

/**
 * The header with the hubs and the own address that the Link header names, before those of the document itself.
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

/** The header of a document that was pushed: it may be cut short, and what is advertised is known from the fetches alone. */
export const withKnownHubLinks = (previous: FeedHeader | undefined, header: FeedHeader): FeedHeader => {
  const isOwn = ({ rel }: Link) => rel === "hub" || rel === "self"
  const links = [...(previous?.links ?? []).filter(isOwn), ...(header.links ?? []).filter((link) => !isOwn(link))]
  return { ...previous, ...header, links }
}

/** The header of what is no feed: nothing but such links; undefined where there are none. What the resource was before is forgotten. */
export const documentHeader = (links: ReadonlyArray<Link> | undefined, answer: Fetched): FeedHeader | undefined => {
  const header = withHeaderLinks(links === undefined ? {} : { links }, answer)
  return header.links === undefined ? undefined : header
}

/** Whether a document that was read names a hub, or the header that it comes with now. */
export const hasHub = (known: FeedHeader | undefined, answer: Fetched): boolean =>
  getLinks(known?.links, "hub").length > 0 ||
  getLinks(parseLinkHeader(answer.headers["link"], answer.finalUrl), "hub").length > 0

/** The hubs of a resource, when it names usable ones. The credentials of a subscriber, in its URL, are no hub's business. */
export const hubLinksOf = ({ header, url }: Pick<ResourceState, "header" | "url">): HubLinks | undefined => {
  if (hasCredentials(url)) return undefined
  const hubs = getLinks(header?.links, "hub").flatMap(({ href }) => usableHubUrl(href) ?? [])
  if (hubs.length === 0) return undefined
  const self = getLinks(header?.links, "self").find(({ href }) => parseWebUrl(href) !== undefined)
  return { hubs: [...new Set(hubs)].slice(0, maxHubs), topic: self?.href ?? withoutFragment(url) }
}

/**
 * Whether what the hubs push is the document of this resource: they know it by its own URL, or by the one that this redirects to for good.
 * Pages name the feed of their site, and feeds the one that they were made from.
 */
export const isItsOwnTopic = (resource: Pick<ResourceState, "header" | "serverProfile" | "url">): boolean => {
  const { serverProfile, url } = resource
  const topic = hubLinksOf(resource)?.topic
  if (topic === undefined || withoutFragment(url) !== url) return false
  return [url, serverProfile?.permanentRedirect?.to].some((own) =>
    own !== undefined && comparableUrl(own) === comparableUrl(topic)
  )
}

/** Without what one document is written with and without: the scheme, the dot behind a host, the slash behind a path. */
const comparableUrl = (address: string): string => {
  const { hostname, pathname, port, search } = new URL(address)
  return `${hostname.replace(/\.$/, "")}:${port}${pathname.replace(/\/$/, "")}${search}`
}

/** The feeds that a page advertises; none for anything that is a feed itself, or a part of a page. */
export const feedsOf = ({ header, kind }: Pick<ResourceState, "header" | "kind">): ReadonlyArray<string> =>
  kind === "other" ? [...new Set(getLinks(header?.links, "alternate").map(({ href }) => href))] : []

/** Characters of the address of a hub. */
const maxHubUrlLength = 1024

/** A hub that can be asked. Credentials in its address would be the publisher's idea: such a one is not used. */
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
