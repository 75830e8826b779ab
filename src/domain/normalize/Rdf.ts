import type { DialectOptions, ParsedFeed } from "./Dialect.ts"
import { readChannel } from "./Rss.ts"
import { getChildElements } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"

/** Reads RSS 0.90 and 1.0, where items stand beside the channel, and RSS 1.1. */
export const readRdf = (root: Element, outside: DialectOptions): ParsedFeed => ({
  version: detectVersion(root),
  ...readChannel(root, outside)
})

const detectVersion = (root: Element): string => {
  const declared = [root, ...getChildElements(root).slice(0, 20)].flatMap(({ attributes }) => attributes).join(" ")
  return declared.includes("netscape.com/rdf/simple/0.9")
    ? "rss090"
    : declared.includes("purl.org/net/rss1.1")
    ? "rss11"
    : "rss10"
}
