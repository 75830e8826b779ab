import type { Entry, Link, Source } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import { announceSelf, getFeedId } from "./EntryFields.ts"

/**
 * An entry with its feed as `source`, for a document with the entries of several feeds.
 *
 * An aggregated entry keeps the source that its publisher names. The feed is then a `via` link of the source. `topic` is the URL of the
 * feed as the subscriber spells it.
 */
export const addSource = (entry: Entry, header: FeedHeader | undefined, topic: string): Entry => ({
  ...entry,
  source: entry.source === undefined ? sourceOf(header, topic) : markSource(entry.source, topic)
})

const sourceOf = (header: FeedHeader | undefined, topic: string): Source => ({
  id: getFeedId(header, { feed: topic }),
  ...(header?.title === undefined ? {} : { title: header.title }),
  ...(header?.updated === undefined ? {} : { updated: header.updated }),
  links: announceSelf(header?.links ?? [], topic),
  ...(header?.authors === undefined ? {} : { authors: header.authors })
})

const markSource = (source: Source, topic: string): Source => {
  const links: ReadonlyArray<Link> = source.links ?? []
  return links.some(({ href }) => href === topic)
    ? source
    : { ...source, links: [...links, { rel: "via", href: topic }] }
}
