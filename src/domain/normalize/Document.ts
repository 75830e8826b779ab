import type { RawEntry } from "#domain/EntryId.ts"
import type { Feed } from "#domain/Feed.ts"
import type { Fingerprint } from "#domain/Fingerprint.ts"
import { readAtom } from "./Atom.ts"
import { decodeBytes } from "./Decode.ts"
import { feedElement } from "./Detect.ts"
import type { Outside, Reading } from "./Dialect.ts"
import { isJsonFeed, readJsonFeed } from "./JsonFeed.ts"
import { readRdf } from "./Rdf.ts"
import { readRss } from "./Rss.ts"
import { slice } from "./Slices.ts"
import { tokenize } from "./Tokenizer.ts"
import type { Element } from "./Tree.ts"

/** A feed as read: its entries carry the publisher's ids, or none. `EntryId` gives every entry one. */
export interface RawFeed extends Omit<Feed, "entries"> {
  readonly entries: ReadonlyArray<RawEntry>
}

export interface ReadOptions {
  /** The header as sent; its charset counts. */
  readonly contentType?: string
  /** The header as sent: the language of a feed that names none. */
  readonly contentLanguage?: string
  /** Where the document came from at last, after redirects: a base of relative references. */
  readonly url?: string
  /**
   * Fingerprints of entries whose bytes were read before. Entries with these bytes are left out, where the document is plain enough
   * to tell its entries apart without parsing.
   */
  readonly seenSlices?: ReadonlySet<Fingerprint>
  /** Entries read at most, from the top of the document. Default 5000. */
  readonly maxEntries?: number
}

export type ReadResult =
  | {
    readonly _tag: "Feed"
    readonly feed: RawFeed
    /** Fingerprints of the bytes of all entries, read or not; `undefined` when the document had to be read whole. */
    readonly slices: ReadonlyArray<Fingerprint> | undefined
    /** Entries left out because their bytes are in `seenSlices`. */
    readonly skipped: number
  }
  | {
    readonly _tag: "NotFeed"
    readonly kind: "html" | "json" | "xml" | "other" | "empty"
    /** In words for a person. */
    readonly reason: string
  }

const MOST_ENTRIES = 5000

/**
 * Reads a document of any feed dialect. Pure and synchronous; it never throws, whatever the bytes.
 *
 * Time is linear in the bytes, memory bounded by depth and count: see `Tokenizer`. A field that cannot be read is absent.
 */
export const readFeed = (bytes: Uint8Array, options: ReadOptions = {}): ReadResult => {
  const sliced = slice(bytes, options)
  const { text, encoding, repairs } = decodeBytes(sliced?.unseen ?? bytes, options.contentType)
  const start = text.search(/\S/)
  if (start < 0) return { _tag: "NotFeed", kind: "empty", reason: "the document is empty" }
  const read = text[start] === "{" || text[start] === "[" ? readJson(text, options) : readXml(text, options)
  if ("kind" in read) return { _tag: "NotFeed", ...read }
  const { reading } = read
  return {
    _tag: "Feed",
    feed: { ...reading, encoding, repairs: [...repairs, ...read.repairs] },
    slices: sliced?.slices,
    skipped: sliced?.skipped ?? 0
  }
}

interface Read {
  readonly reading: Reading
  readonly repairs: ReadonlyArray<string>
}

interface Refused {
  readonly kind: "html" | "json" | "xml" | "other"
  readonly reason: string
}

const outsideOf = ({ url, contentLanguage, maxEntries = MOST_ENTRIES }: ReadOptions): Outside => {
  const language = contentLanguage?.trim()
  // A list of languages names those of the audience, not that of the text.
  return {
    url,
    language: language !== undefined && /^[A-Za-z-]{2,35}$/.test(language) ? language : undefined,
    most: maxEntries
  }
}

const readJson = (text: string, options: ReadOptions): Read | Refused => {
  const document = parseJson(text)
  if (document === undefined) return { kind: "other", reason: "it begins like JSON, but is none" }
  if (!isJsonFeed(document)) return { kind: "json", reason: "JSON, but not a JSON Feed" }
  return { reading: readJsonFeed(document, outsideOf(options)), repairs: [] }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // JSON has no undefined: nothing else gives it
  }
}

const readXml = (text: string, options: ReadOptions): Read | Refused => {
  const { root, repairs } = tokenize(text)
  const feed = feedElement(root)
  return "kind" in feed ? feed : { reading: dialectOf(feed)(feed, outsideOf(options)), repairs }
}

const dialectOf = ({ key }: Element): (root: Element, outside: Outside) => Reading =>
  key === "feed" || key === "entry" ? readAtom : key === "rdf" ? readRdf : readRss
