import type { Category, Entry, Link, MediaContent, Point, Shape, Text } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { Status } from "#domain/poll/Status.ts"

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

/** The id of a feed in all formats: the publisher's id, else the topic. */
export const getFeedId = (header: FeedHeader | undefined, { feed }: Pick<Status, "feed">): string => header?.id ?? feed

/**
 * The links of a feed with the subscriber's URL as its only `self` link, in front.
 *
 * A publisher that names another URL as `self` prefers that URL. Subscribers get this link as `canonical`.
 */
export const announceSelf = (links: ReadonlyArray<Link>, self: string): ReadonlyArray<Link> => {
  const others = new Map<string, Link>()
  let announced: Link = { rel: "self", href: self }
  for (const link of links) {
    if (link.rel !== "self") others.set(`${others.size}`, link)
    else if (link.href === self) announced = link
    else others.set(linkKey(link), { ...link, rel: "canonical" })
  }
  return [announced, ...others.values()]
}

/** The points of an entry, or else the centre of its line, polygon or box. */
export const getPoints = ({ points, shape }: Entry): ReadonlyArray<Point> => {
  if (points !== undefined && points.length > 0 || shape === undefined) return points ?? []
  const center = findCenter(shape)
  return center === undefined ? [] : [center]
}

/** The centre of the bounding box. A box whose first corner lies east of its second one crosses the 180th meridian. */
const findCenter = ({ coordinates, type }: Shape): Point | undefined => {
  const [first, second] = coordinates
  if (first === undefined) return undefined
  const latitude = middleOf(coordinates.map(([, latitude]) => latitude))
  const crosses = type === "Box" && second !== undefined && first[0] > second[0]
  const middle = middleOf(coordinates.map(([longitude]) => crosses && longitude < 0 ? longitude + 360 : longitude))
  return { latitude, longitude: middle > 180 ? middle - 360 : middle }
}

/** The middle of a range, to some centimetres on the ground. */
const middleOf = (values: ReadonlyArray<number>): number =>
  Math.round((values.reduce((a, b) => Math.min(a, b)) + values.reduce((a, b) => Math.max(a, b))) / 2 * 1e6) / 1e6
