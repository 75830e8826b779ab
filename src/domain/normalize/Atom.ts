import { type ElementContext, enterElement } from "./ElementContext.ts"
import {
  type DialectOptions,
  dropEmpty,
  isEntry,
  limitEntries,
  makeFeedContext,
  type ParsedFeed,
  readEntries,
  resolveFeedId
} from "./Dialect.ts"
import { Draft } from "./Draft.ts"
import { buildHeader } from "./BuildModel.ts"
import { type Element, getExactAttribute } from "#domain/normalize/xml/Element.ts"
import { readAtomElement } from "./Vocabularies.ts"

/** Reads Atom 0.3 and 1.0: a feed, or a document with a single entry. */
export const readAtom = (root: Element, { url, language, maxEntries }: DialectOptions): ParsedFeed => {
  const outer = makeFeedContext(root, readAtomElement, url)
  if (root.key === "entry") return { version: "atom10", header: {}, entries: readEntries([[root, outer]], language) }
  const context = enterElement(root, outer)
  const draft = new Draft("feed")
  const found: Array<readonly [Element, ElementContext]> = []
  for (const child of root.children) {
    if (typeof child === "string") continue
    if (isEntry(child)) found.push([child, context])
    else readAtomElement(child, draft, context)
  }
  draft.id = resolveFeedId(draft.id, context, url)
  draft.language ??= dropEmpty(context.language) ?? language
  return {
    version: detectAtomVersion(root),
    header: buildHeader(draft),
    ...limitEntries(readEntries(found, draft.language, inheritAuthors(draft)), maxEntries)
  }
}

/** Gives an entry without authors the authors of its source, or else of the feed (RFC 4287, 4.2.1). */
const inheritAuthors = ({ authors }: Draft) => (_element: Element, entry: Draft): void => {
  const inherited = entry.source?.authors ?? authors
  if (inherited !== undefined) entry.authors ??= [...inherited]
}

const detectAtomVersion = (root: Element): string =>
  getExactAttribute(root, "version") === "0.3" ||
    root.attributes.some((text) => text.startsWith("http://purl.org/atom/ns"))
    ? "atom03"
    : "atom10"
