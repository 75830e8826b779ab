import type { Link } from "#domain/feed/Entry.ts"

/** Bounds of a Link header: characters and links beyond these are ignored. */
const maxHeaderLength = 16_384
const maxHeaderLinks = 100

const target = /[\s,]*<([^<>]*)>/y
const parameter = /(?:\s*;)+\s*([\w!#$%&'*+.^`|~-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|'([^',;"]*)'|([^\s;,"]*)))?/y

/**
 * Reads the links of a Link header, one for each relation. Relative references are resolved against `base`.
 *
 * A link whose `anchor` is another document is ignored. Malformed links are skipped up to the next comma. Values in single quotes are read
 * as well, although only double quotes are legal.
 *
 * @see https://www.rfc-editor.org/rfc/rfc8288#section-3
 */
export const parseLinkHeader = (header: string | undefined, base: string): ReadonlyArray<Link> => {
  const text = header?.slice(0, maxHeaderLength) ?? ""
  const links: Array<Link> = []
  for (let at = 0; at < text.length && links.length < maxHeaderLinks;) {
    target.lastIndex = at
    const found = target.exec(text)
    if (found === null) {
      at = afterComma(text, at)
      continue
    }
    const { end, parameters } = readParameters(text, target.lastIndex)
    at = end
    const href = URL.parse(found[1]?.trim() ?? "", base)?.href
    if (href !== undefined && belongsTo(base, parameters.get("anchor"))) links.push(...linksTo(href, parameters))
  }
  return links
}

const afterComma = (text: string, at: number): number => {
  const comma = text.indexOf(",", at)
  return comma < 0 ? text.length : comma + 1
}

/** The first of repeated parameters counts. */
const readParameters = (text: string, start: number) => {
  const parameters = new Map<string, string>()
  let end = start
  while (true) {
    parameter.lastIndex = end
    const found = parameter.exec(text)
    if (found === null) return { end, parameters }
    end = parameter.lastIndex
    const name = found[1]?.toLowerCase() ?? ""
    if (!parameters.has(name)) parameters.set(name, found[2]?.replace(/\\(.)/g, "$1") ?? found[3] ?? found[4] ?? "")
  }
}

/** Whether a link belongs to the document itself: without an anchor, or with the document as its anchor. */
const belongsTo = (base: string, anchor: string | undefined): boolean =>
  anchor === undefined || URL.parse(anchor, base)?.href === URL.parse(base)?.href

const linksTo = (href: string, parameters: ReadonlyMap<string, string>): ReadonlyArray<Link> => {
  const type = parameters.get("type")
  return (parameters.get("rel") ?? "").toLowerCase().split(/\s+/).filter((rel) => rel !== "").map((rel) => ({
    href,
    rel,
    ...(type === undefined ? {} : { type })
  }))
}
