import type { Link, Text } from "#domain/Entry.ts"

const PAGES: ReadonlySet<string> = new Set(["alternate", "replies"])

/**
 * Links as they are sent: pages carry a type and a title.
 *
 * A publisher's `<link>` seldom has either. Subscribers are used to `text/html`, which is the default anyway, and to the title of what the link belongs to.
 */
export const sentLinks = (links: ReadonlyArray<Link> | undefined, title: Text | undefined): ReadonlyArray<Link> => {
  const plain = title?.type === "text" && title.value !== "" ? title.value : undefined
  return (links ?? []).filter(({ href }) => href !== "").map((link) => {
    if (!PAGES.has(link.rel) || link.type !== undefined && link.title !== undefined) return link
    const type = link.type ?? "text/html"
    const named = link.title ?? plain
    return named === undefined ? { ...link, type } : { ...link, type, title: named }
  })
}
