import type { Entry, Link, MediaContent, Text } from "#domain/feed/Entry.ts"

const pageRelations: ReadonlySet<string> = new Set(["alternate", "replies"])

/** Links that have an address: a publisher may have forgotten it. */
export const dropLinksWithoutAddress = (links: ReadonlyArray<Link> | undefined): ReadonlyArray<Link> =>
  links === undefined ? [] : links.filter(({ href }) => href !== "")

/**
 * Links as they are sent: pages carry a type and a title.
 *
 * A publisher's `<link>` seldom has either. Subscribers are used to `text/html`, which is the default anyway,
 * and to the title of what the link belongs to.
 */
export const completeLinks = (links: ReadonlyArray<Link> | undefined, title: Text | undefined): ReadonlyArray<Link> => {
  const plain = title?.type === "text" && title.value !== "" ? title.value : undefined
  return dropLinksWithoutAddress(links).map((link) => {
    if (!pageRelations.has(link.rel) || link.type !== undefined && link.title !== undefined) return link
    const type = link.type ?? "text/html"
    const named = link.title ?? plain
    return named === undefined ? { ...link, type } : { ...link, type, title: named }
  })
}

/** Links made of the other fields of an entry at most. */
const maxDerivedLinks = 20

/**
 * An entry's links, and what else in it is one.
 *
 * RSS has elements of their own for comments, Media RSS and iTunes for pictures and for media. Subscribers know `replies`, `picture` and
 * `enclosure`; an address that is there already under its relation is not repeated.
 */
export const getEntryLinks = (entry: Entry): ReadonlyArray<Link> => {
  const links = [...entry.links ?? []]
  const known = new Set(links.map(linkKey))
  for (const link of [...getReplies(entry), ...getMediaLinks(entry), ...getPictures(entry)].slice(0, maxDerivedLinks)) {
    if (link.href === "" || known.has(linkKey(link))) continue
    known.add(linkKey(link))
    links.push(link)
  }
  return completeLinks(links, entry.title)
}

const linkKey = ({ rel, href }: Link): string => `${rel} ${href}`

const getReplies = ({ comments, commentsFeed }: Entry): ReadonlyArray<Link> => [
  ...comments === undefined ? [] : [{ href: comments, rel: "replies" }],
  ...commentsFeed === undefined ? [] : [{ href: commentsFeed, rel: "replies", type: "application/rss+xml" }]
]

const getMediaLinks = ({ media }: Entry): ReadonlyArray<Link> =>
  (media?.contents ?? []).flatMap((content) => content.url === undefined ? [] : [toMediaLink(content, content.url)])

const toMediaLink = (content: MediaContent, href: string): Link => ({
  href,
  rel: isPicture(content) ? "picture" : "enclosure",
  ...content.type === undefined ? {} : { type: content.type },
  ...content.title === undefined ? {} : { title: content.title },
  ...content.fileSize === undefined ? {} : { length: content.fileSize }
})

const isPicture = ({ medium, type }: MediaContent): boolean => medium === "image" || type?.startsWith("image/") === true

/** The publisher's picture of the entry; of thumbnails, which are one picture in several sizes, the first. */
const getPictures = ({ image, itunes, media }: Entry): ReadonlyArray<Link> =>
  [image?.url, itunes?.image, media?.thumbnails?.[0]?.url].flatMap((href) =>
    href === undefined ? [] : [{ href, rel: "picture" }]
  )
