import type { Category, Entry, Link, MediaContent, Text } from "#domain/feed/Entry.ts"

const pageRelations: ReadonlySet<string> = new Set(["alternate", "replies"])

/** Drops links without a URL. */
export const dropLinksWithoutAddress = (links: ReadonlyArray<Link> | undefined): ReadonlyArray<Link> =>
  links === undefined ? [] : links.filter(({ href }) => href !== "")

/**
 * Completes links for subscribers: links to pages get a type and a title.
 *
 * A publisher's `<link>` seldom has a type or title. Subscribers expect `text/html`, the default, and the title of the entry or feed.
 */
export const completeLinks = (links: ReadonlyArray<Link> | undefined, title: Text | undefined): ReadonlyArray<Link> => {
  const plain = title?.type === "text" && title.value !== "" ? title.value : undefined
  return dropLinksWithoutAddress(links).map((link) => {
    if (!pageRelations.has(link.rel) || link.type !== undefined && link.title !== undefined) return link
    const type = link.type ?? "text/html"
    const linkTitle = link.title ?? plain
    return linkTitle === undefined ? { ...link, type } : { ...link, type, title: linkTitle }
  })
}

/** Links that come from other fields of an entry. */
const maxDerivedLinks = 20

/**
 * The links of an entry, and URLs of its other fields as links.
 *
 * RSS has own elements for comments, and Media RSS and iTunes for pictures and media. Subscribers receive `replies`, `picture` and
 * `enclosure` links, without repetition.
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

/** Pictures of the entry. Only the first thumbnail counts, because thumbnails are one picture in several sizes. */
const getPictures = ({ image, itunes, media }: Entry): ReadonlyArray<Link> =>
  [image?.url, itunes?.image, media?.thumbnails?.[0]?.url].flatMap((href) =>
    href === undefined ? [] : [{ href, rel: "picture" }]
  )

/** Drops categories without a term, because Atom requires a term. */
export const dropNamelessCategories = (categories: ReadonlyArray<Category> | undefined): ReadonlyArray<Category> =>
  categories === undefined ? [] : categories.filter(({ term }) => term !== "")
