/**
 * The vocabularies that are understood, each under a short key.
 *
 * Publishers write namespace URIs from memory: with and without the last slash, in upper case, with https, or the page that documents
 * the module instead of its namespace. They are compared without these differences.
 */
export type NamespaceKey = string

const RSS = [
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
]

const URIS: { readonly [key: NamespaceKey]: ReadonlyArray<string> } = {
  rss: RSS,
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
  xhtml: ["http://www.w3.org/1999/xhtml"],
  svg: ["http://www.w3.org/2000/svg"],
  mathml: ["http://www.w3.org/1998/math/mathml"],
  dc: ["http://purl.org/dc/elements/1.1", "http://purl.org/dc/elements/1.0"],
  dcterms: ["http://purl.org/dc/terms"],
  content: ["http://purl.org/rss/1.0/modules/content"],
  slash: ["http://purl.org/rss/1.0/modules/slash"],
  sy: ["http://purl.org/rss/1.0/modules/syndication"],
  wfw: ["http://wellformedweb.org/commentapi"],
  thr: ["http://purl.org/syndication/thread/1.0"],
  media: ["http://search.yahoo.com/mrss", "http://video.search.yahoo.com/mrss", "http://tools.search.yahoo.com/mrss"],
  itunes: [
    "http://www.itunes.com/dtds/podcast-1.0.dtd",
    "http://www.itunes.com/dtds/podcast",
    "http://example.com/dtds/podcast-1.0.dtd"
  ],
  georss: ["http://www.georss.org/georss", "http://www.georss.org/georss/10", "http://www.georss.org"],
  geo: ["http://www.w3.org/2003/01/geo/wgs84_pos#", "http://www.w3.org/2003/01/geo/wgs84_pos"],
  gml: ["http://www.opengis.net/gml"],
  icbm: ["http://geourl.org/rss/module", "http://postneo.com/icbm"],
  creativecommons: [
    "http://backend.userland.com/creativecommonsrssmodule",
    "http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html"
  ],
  cc: ["http://web.resource.org/cc", "http://creativecommons.org/ns#"],
  feedburner: ["http://rssnamespace.org/feedburner/ext/1.0"],
  activity: ["http://activitystrea.ms/spec/1.0", "http://activitystrea.ms/schema/1.0"],
  podcast: [
    "http://podcastindex.org/namespace/1.0",
    "http://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md"
  ],
  admin: ["http://webns.net/mvcb"],
  source: ["http://source.scripting.com"],
  enc: ["http://purl.oclc.org/net/rss_2.0/enc#"]
}

const keysByUri: ReadonlyMap<string, NamespaceKey> = new Map(
  Object.entries(URIS).flatMap(([key, uris]) => uris.map((uri) => [uri, key] as const))
)

/** Prefixes that are taken at their word when the document forgets to declare them, beyond those that equal their key. */
const undeclaredPrefixes: { readonly [prefix: string]: NamespaceKey } = {
  a10: "atom",
  atom10: "atom",
  atom03: "atom",
  rss: "rss",
  rdf: "rdf"
}

/** URIs as publishers wrote them. */
const recentKeys = new Map<string, NamespaceKey>()
const maxRecentKeys = 1000

/** The key of a URI; an unknown one is its own key. `""` stands for no namespace. */
export const toNamespaceKey = (uri: string): NamespaceKey => {
  const known = recentKeys.get(uri)
  if (known !== undefined) return known
  const plain = uri.trim().toLowerCase().replace(/^https:/, "http:").replace(/\/$/, "")
  const key = keysByUri.get(plain) ?? plain
  // A copy: what is cut out of a document keeps all of it in memory.
  if (recentKeys.size < maxRecentKeys && keysByUri.has(plain)) recentKeys.set(Array.from(uri).join(""), key)
  return key
}

/** Whether a key stands for one of the vocabularies above, or for none at all. */
export const isKnownNamespace = (key: NamespaceKey): boolean => key === "" || key in URIS

/** What a prefix most likely means where nothing declares it. */
export const guessNamespaceKey = (prefix: string): NamespaceKey => {
  const plain = prefix.toLowerCase()
  return undeclaredPrefixes[plain] ?? (plain in URIS ? plain : plain === "" ? "" : `?${plain}`)
}
