import type { DraftKind } from "./Draft.ts"
import type { ElementReader, Vocabulary } from "./ElementContext.ts"
import { atom } from "./namespaces/Atom.ts"
import { atomInRss } from "./namespaces/AtomInRss.ts"
import { namespaces } from "./namespaces/Registry.ts"
import { rssChannel, rssItem } from "./namespaces/Rss.ts"
import type { Element, NamespaceKey } from "./xml/Element.ts"

/** A map, because an element may have the name `constructor`. */
type ReaderMap = ReadonlyMap<string, ElementReader>

const makeReaderMap = (...vocabularies: ReadonlyArray<Vocabulary>): ReaderMap =>
  new Map(
    Object.entries(Object.assign({}, ...vocabularies) as Vocabulary).flatMap(([key, reader]) =>
      reader === undefined ? [] : [[key, reader]]
    )
  )

const modules: ReadonlyMap<NamespaceKey, ReaderMap> = new Map(
  namespaces.map(({ key, vocabulary }) => [key, makeReaderMap(vocabulary)])
)

/**
 * Whether an element belongs to the dialect itself.
 *
 * RSS has no namespace, but some publishers declare their own. Others forget the namespace of Atom.
 */
export const isCore = ({ namespace, prefix }: Element): boolean =>
  namespace === "" || namespace === "rss" || namespace === "atom" || prefix === "" && !modules.has(namespace)

const makeDialectReader =
  (own: (kind: DraftKind) => ReaderMap, guests: ReadonlyMap<NamespaceKey, ReaderMap>): ElementReader =>
  (element, draft, context) => {
    const { namespace, prefix } = element
    const vocabulary = guests.get(namespace) ??
      (namespace === "" || namespace === "rss" || namespace === "atom" || prefix === "" ? own(draft.kind) : undefined)
    vocabulary?.get(element.key)?.(element, draft, context)
  }

const rssChannelReaders = makeReaderMap(atomInRss, rssChannel)
const rssItemReaders = makeReaderMap(atomInRss, rssItem)
const rssModules = new Map([...modules, ["atom", makeReaderMap(atomInRss)] as const])

/** Reads an element of RSS, or of another namespace inside RSS. */
export const readRssElement: ElementReader = makeDialectReader(
  (kind) => kind === "feed" || kind === "source" ? rssChannelReaders : rssItemReaders,
  rssModules
)

const atomFeedReaders = makeReaderMap(rssChannel, atom)
const atomEntryReaders = makeReaderMap(rssItem, atom)

/** Reads an element of Atom, or of another namespace inside Atom. Elements of RSS also count. */
export const readAtomElement: ElementReader = makeDialectReader(
  (kind) => kind === "entry" ? atomEntryReaders : atomFeedReaders,
  modules
)
