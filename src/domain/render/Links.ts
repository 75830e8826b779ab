import type { Entry, Link, Text } from "#domain/Entry.ts"

const PAGES: ReadonlySet<string> = new Set(["alternate", "replies"])

/** Links that have an address: a publisher may have forgotten it. */
export const addressed = (links: ReadonlyArray<Link> | undefined): ReadonlyArray<Link> =>
  links === undefined ? [] : links.filter(({ href }) => href !== "")

/**
 * Links as they are sent: pages carry a type and a title.
 *
 * A publisher's `<link>` seldom has either. Subscribers are used to `text/html`, which is the default anyway,
 * and to the title of what the link belongs to.
 */
export const sentLinks = (links: ReadonlyArray<Link> | undefined, title: Text | undefined): ReadonlyArray<Link> => {
  const plain = title?.type === "text" && title.value !== "" ? title.value : undefined
  return addressed(links).map((link) => {
    if (!PAGES.has(link.rel) || link.type !== undefined && link.title !== undefined) return link
    const type = link.type ?? "text/html"
    const named = link.title ?? plain
    return named === undefined ? { ...link, type } : { ...link, type, title: named }
  })
}

/** An entry's links, and its comments as the replies that they are: RSS has elements of their own for them. */
export const entryLinks = ({ links, title, comments, commentsFeed }: Entry): ReadonlyArray<Link> => {
  const replies = [
    ...comments === undefined ? [] : [{ href: comments, rel: "replies" }],
    ...commentsFeed === undefined ? [] : [{ href: commentsFeed, rel: "replies", type: "application/rss+xml" }]
  ]
  const known = new Set(links?.flatMap(({ rel, href }) => rel === "replies" ? [href] : []))
  return sentLinks([...links ?? [], ...replies.filter(({ href }) => !known.has(href))], title)
}
