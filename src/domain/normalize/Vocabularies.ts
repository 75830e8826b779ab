import type { Reader, Vocabulary } from "./ElementContext.ts"
import type { Kind } from "./Draft.ts"
import { activityStreams } from "./namespaces/ActivityStreams.ts"
import { admin } from "./namespaces/Admin.ts"
import { atom } from "./namespaces/Atom.ts"
import { atomInRss } from "./namespaces/AtomInRss.ts"
import { content } from "./namespaces/Content.ts"
import { creativeCommons, rdfLicence } from "./namespaces/CreativeCommons.ts"
import { dublinCore } from "./namespaces/DublinCore.ts"
import { enclosures } from "./namespaces/Enclosures.ts"
import { feedBurner } from "./namespaces/FeedBurner.ts"
import { geo } from "./namespaces/Geo.ts"
import { geoRss } from "./namespaces/GeoRss.ts"
import { gml } from "./namespaces/Gml.ts"
import { itunes } from "./namespaces/Itunes.ts"
import { media } from "./namespaces/Media.ts"
import { podcast } from "./namespaces/Podcast.ts"
import { rssChannel, rssItem } from "./namespaces/Rss.ts"
import { scripting } from "./namespaces/Scripting.ts"
import { slash } from "./namespaces/Slash.ts"
import { syndication } from "./namespaces/Syndication.ts"
import { threading } from "./namespaces/Threading.ts"
import { wellFormedWeb } from "./namespaces/WellFormedWeb.ts"
import { xhtml } from "./namespaces/Xhtml.ts"
import type { NamespaceKey } from "#domain/normalize/namespaces/NamespaceKeys.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"

/** Maps, not objects: a publisher's element may be called `constructor`. */
type Readers = ReadonlyMap<string, Reader>

const readers = (...vocabularies: ReadonlyArray<Vocabulary>): Readers =>
  new Map(
    Object.entries(Object.assign({}, ...vocabularies) as Vocabulary).flatMap(([key, reader]) =>
      reader === undefined ? [] : [[key, reader]]
    )
  )

const GUESTS: ReadonlyMap<NamespaceKey, Readers> = new Map(
  Object.entries({
    dc: dublinCore,
    dcterms: dublinCore,
    content,
    xhtml,
    slash,
    sy: syndication,
    wfw: wellFormedWeb,
    thr: threading,
    media,
    itunes,
    georss: geoRss,
    geo,
    icbm: geo,
    gml,
    creativecommons: creativeCommons,
    cc: rdfLicence,
    feedburner: feedBurner,
    activity: activityStreams,
    podcast,
    admin,
    source: scripting,
    enc: enclosures
  }).map(([key, vocabulary]) => [key, readers(vocabulary)])
)

/**
 * Whether an element belongs to the dialect itself.
 *
 * RSS has no namespace; some give it one of their own, and some forget Atom's.
 */
export const isCore = ({ namespace, prefix }: Element): boolean =>
  namespace === "" || namespace === "rss" || namespace === "atom" || prefix === "" && !GUESTS.has(namespace)

const readerFor =
  (own: (kind: Kind) => Readers, guests: ReadonlyMap<NamespaceKey, Readers>): Reader => (element, draft, context) => {
    const { namespace, prefix } = element
    const vocabulary = guests.get(namespace) ??
      (namespace === "" || namespace === "rss" || namespace === "atom" || prefix === "" ? own(draft.kind) : undefined)
    vocabulary?.get(element.key)?.(element, draft, context)
  }

const RSS_CHANNEL = readers(atomInRss, rssChannel)
const RSS_ITEM = readers(atomInRss, rssItem)
const RSS_GUESTS = new Map([...GUESTS, ["atom", readers(atomInRss)] as const])

/** Reads an element of RSS or of a guest in it. */
export const readRssElement: Reader = readerFor(
  (kind) => kind === "feed" || kind === "source" ? RSS_CHANNEL : RSS_ITEM,
  RSS_GUESTS
)

const ATOM_FEED = readers(rssChannel, atom)
const ATOM_ENTRY = readers(rssItem, atom)

/** Reads an element of Atom or of a guest in it. RSS names that strayed into Atom are understood too. */
export const readAtomElement: Reader = readerFor((kind) => kind === "entry" ? ATOM_ENTRY : ATOM_FEED, GUESTS)
