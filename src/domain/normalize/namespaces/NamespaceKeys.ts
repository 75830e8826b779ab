import type { NamespaceKey } from "#domain/normalize/xml/Element.ts"
import { namespaces } from "./Registry.ts"

/** URIs of the dialects, and of XML's own vocabularies. */
const dialectUris: { readonly [key: NamespaceKey]: ReadonlyArray<string> } = {
  rss: [
    "http://backend.userland.com/rss",
    "http://backend.userland.com/rss2",
    "http://backend.userland.com/rss2.1",
    "http://blogs.law.harvard.edu/tech/rss",
    "http://cyber.law.harvard.edu/rss/rss.html",
    "http://purl.org/rss/1.0",
    "http://my.netscape.com/rdf/simple/0.9",
    "http://channel.netscape.com/rdf/simple/0.9",
    "http://my.netscape.com/publish/formats/rss-0.91.dtd",
    "http://purl.org/net/rss1.1#",
    "http://purl.org/rss/1.0/modules/rss091#",
    "http://purl.org/rss/1.0/modules/rss091"
  ],
  atom: [
    "http://www.w3.org/2005/atom",
    "http://purl.org/atom/ns#",
    "http://purl.org/atom/ns",
    "http://example.com/newformat#",
    "http://example.com/necho",
    "http://purl.org/echo/ns#",
    "http://purl.org/pie"
  ],
  rdf: ["http://www.w3.org/1999/02/22-rdf-syntax-ns#"],
  xml: ["http://www.w3.org/xml/1998/namespace"],
  svg: ["http://www.w3.org/2000/svg"],
  mathml: ["http://www.w3.org/1998/math/mathml"]
}

const keysByUri: ReadonlyMap<string, NamespaceKey> = new Map([
  ...Object.entries(dialectUris).flatMap(([key, uris]) => uris.map((uri) => [uri, key] as const)),
  ...namespaces.flatMap(({ key, uris }) => uris.map((uri) => [uri, key] as const))
])

const knownKeys: ReadonlySet<NamespaceKey> = new Set(keysByUri.values())

/** Prefixes other than the keys that keep their usual meaning where a document forgets to declare them. */
const undeclaredPrefixes: ReadonlyMap<string, NamespaceKey> = new Map([
  ["a10", "atom"],
  ["atom10", "atom"],
  ["atom03", "atom"]
])

/** Keys by URIs as publishers wrote them. */
const recentKeys = new Map<string, NamespaceKey>()
const maxRecentKeys = 1000

/**
 * The key of a namespace URI. An unknown URI is its own key, and `""` stands for no namespace.
 *
 * Publishers write URIs from memory: with or without the last slash, in upper case, with https. Others give the page that documents the
 * module. The comparison ignores these differences.
 */
export const toNamespaceKey = (uri: string): NamespaceKey => {
  const known = recentKeys.get(uri)
  if (known !== undefined) return known
  const plain = uri.trim().toLowerCase().replace(/^https:/, "http:").replace(/\/$/, "")
  const key = keysByUri.get(plain) ?? plain
  // A copy, because a substring keeps the whole document in memory.
  if (recentKeys.size < maxRecentKeys && keysByUri.has(plain)) recentKeys.set(Array.from(uri).join(""), key)
  return key
}

/** Whether a key is that of a known namespace, or of none at all. */
export const isKnownNamespace = (key: NamespaceKey): boolean => key === "" || knownKeys.has(key)

/** The most likely key of a prefix that the document does not declare. */
export const guessNamespaceKey = (prefix: string): NamespaceKey => {
  const plain = prefix.toLowerCase()
  return undeclaredPrefixes.get(plain) ?? (plain === "" || knownKeys.has(plain) ? plain : `?${plain}`)
}
