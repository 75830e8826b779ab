import type { RawEntry } from "#domain/EntryId.ts"
import type { Feed } from "#domain/Feed.ts"
import type { Fingerprint } from "#domain/Fingerprint.ts"
import { readAtom } from "./Atom.ts"
import { cleaned, decodeAs, type Encoding, encodingOf, isAsciiLike, isCleanUtf8 } from "./Decode.ts"
import { feedElement } from "./Detect.ts"
import type { Outside, Reading } from "./Dialect.ts"
import { isJsonFeed, readJsonFeed } from "./JsonFeed.ts"
import { readRdf } from "./Rdf.ts"
import { readRss } from "./Rss.ts"
import { fingerprintsOf, type Slices, slicesOf, unseenRanges } from "./Slices.ts"
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
  const encoding = encodingOf(bytes, options.contentType)
  const slices = isAsciiLike(encoding) ? slicesOf(bytes, options.maxEntries ?? MOST_ENTRIES) : undefined
  const fingerprints = slices === undefined ? undefined : fingerprintsOf(bytes, slices)
  if (slices !== undefined && fingerprints !== undefined && options.seenSlices !== undefined) {
    const part = readUnseen(bytes, encoding, slices, fingerprints, options.seenSlices, options)
    if (part !== undefined) return part
  }
  return readWhole(bytes, encoding, fingerprints, options)
}

/** Second stage: head, unseen entries and tail. `undefined` when it does not give one entry for each unseen slice. */
const readUnseen = (
  bytes: Uint8Array,
  encoding: Encoding,
  slices: Slices,
  fingerprints: ReadonlyArray<Fingerprint>,
  seen: ReadonlySet<Fingerprint>,
  options: ReadOptions
): ReadResult | undefined => {
  const unseen = fingerprints.filter((fingerprint) => !seen.has(fingerprint)).length
  if (unseen === fingerprints.length) return undefined
  const ranges = unseenRanges(bytes, slices, (index) => seen.has(fingerprints[index] ?? 0n))
  const { text, repairs } = cleaned(textOf(ranges, bytes, encoding))
  const read = readText(text, options)
  return "kind" in read || read.reading.entries.length !== unseen
    ? undefined
    : feedOf(read, encoding, repairs, fingerprints, fingerprints.length - unseen)
}

/** Where bytes and characters are counted alike, the ranges of one are those of the other. */
const textOf = (
  ranges: ReadonlyArray<readonly [number, number]>,
  bytes: Uint8Array,
  { text, alike, name }: Encoding
): string =>
  ranges.map(([start, end]) =>
    alike && text !== undefined ? text.slice(start, end) : decodeAs(bytes.subarray(start, end), name)
  ).join("")

const readWhole = (
  bytes: Uint8Array,
  encoding: Encoding,
  fingerprints: ReadonlyArray<Fingerprint> | undefined,
  options: ReadOptions
): ReadResult => {
  const raw = encoding.text ?? decodeAs(bytes, encoding.name)
  const { text, repairs } = encoding.name === "utf-8" && isCleanUtf8(bytes) ? { text: raw, repairs: [] } : cleaned(raw)
  const read = readText(text, options)
  if ("kind" in read) return { _tag: "NotFeed", ...read }
  const slices = fingerprints?.length === read.reading.entries.length ? fingerprints : undefined
  return feedOf(read, encoding, repairs, slices, 0)
}

const feedOf = (
  { reading, repairs }: Read,
  encoding: Encoding,
  cleanings: ReadonlyArray<string>,
  slices: ReadonlyArray<Fingerprint> | undefined,
  skipped: number
): ReadResult => ({
  _tag: "Feed",
  feed: { ...reading, encoding: encoding.name, repairs: [...encoding.repairs, ...cleanings, ...repairs] },
  slices,
  skipped
})

const readText = (text: string, options: ReadOptions): Read | Refused => {
  const start = text.search(/\S/)
  if (start < 0) return { kind: "empty", reason: "the document is empty" }
  return text[start] === "{" || text[start] === "[" ? readJson(text, options) : readXml(text, options)
}

interface Read {
  readonly reading: Reading
  readonly repairs: ReadonlyArray<string>
}

interface Refused {
  readonly kind: "html" | "json" | "xml" | "other" | "empty"
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
