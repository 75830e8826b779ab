import { stripControlsIn } from "#domain/ControlCharacters.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import type { Feed } from "#domain/feed/Feed.ts"
import { parseExactJson } from "#domain/ExactJson.ts"
import type { Fingerprint } from "#domain/Fingerprint.ts"
import type { Link } from "#domain/feed/Entry.ts"
import { readAtom } from "./Atom.ts"
import { type DetectedEncoding, detectEncoding, isAsciiLike } from "#domain/normalize/bytes/DetectEncoding.ts"
import { findFeedElement } from "./FindFeedElement.ts"
import type { DialectOptions, ParsedFeed } from "./Dialect.ts"
import { readHeadLinks } from "./HtmlHead.ts"
import { isJsonFeed, readJsonFeed } from "./JsonFeed.ts"
import { readRdf, readRss } from "./Rss.ts"
import { chooseNewest, type LeftOut } from "./NewestEntries.ts"
import { findSliceDates } from "#domain/normalize/bytes/SliceDates.ts"
import { decodeRanges } from "#domain/normalize/bytes/DecodeRanges.ts"
import {
  type ByteRange,
  type EntrySlices,
  findEntrySlices,
  findUnseenRanges,
  fingerprintSlices,
  splitIntoRanges
} from "#domain/normalize/bytes/EntrySlices.ts"
import { openAtEnd, parseMarkup } from "#domain/normalize/xml/MarkupParser.ts"
import { type Element, getChildElements, hasElements } from "#domain/normalize/xml/Element.ts"

/** A feed whose entries have the publisher's ids, or no id. `EntryId` completes the ids. */
export interface RawFeed extends Omit<Feed, "entries"> {
  readonly entries: ReadonlyArray<RawEntry>
}

export interface ReadOptions {
  /** The Content-Type header as sent, with its charset. */
  readonly contentType?: string
  /** The Content-Language header as sent: the language of a feed without a language. */
  readonly contentLanguage?: string
  /** The Content-Location header as sent. A base of relative references before `url`. */
  readonly contentLocation?: string
  /** Final URL of the document, after redirects. A base of relative references. */
  readonly url?: string
  /**
   * Fingerprints of entry bytes that were read before. Such entries are skipped, if the document is plain enough to separate its entries
   * without parsing.
   */
  readonly seenSlices?: ReadonlySet<Fingerprint>
  /** Limit of entries. The newest entries are read. Default 5,000. */
  readonly maxEntries?: number
}

export type ReadResult =
  | {
    readonly _tag: "Feed"
    readonly feed: RawFeed
    /** Fingerprints of the bytes of all entries, skipped ones too. `undefined` when the document was read whole. */
    readonly slices: ReadonlyArray<Fingerprint> | undefined
    /** Number of entries skipped because of `seenSlices`. */
    readonly skipped: number
    /** Present when the document has more entries than `maxEntries`. */
    readonly leftOut?: LeftOut
  }
  | {
    readonly _tag: "NotFeed"
    readonly kind: "html" | "json" | "xml" | "other" | "empty"
    /** A sentence for a person. */
    readonly reason: string
    /** HTML pages only: links to hubs, to the page itself and to its feeds. */
    readonly links?: ReadonlyArray<Link>
  }

const defaultMaxEntries = 5000

/** Limit of entries that are told apart before the newest ones are read. */
const maxSlices = 200_000

/** Characters that may precede an XML declaration, such as a warning of the publisher's server. */
const maxCharactersBeforeXml = 2000

/**
 * Reads a document of any feed dialect. Pure and synchronous. Never throws.
 *
 * Takes linear time. `MarkupParser` limits depth and number of elements. An unreadable field is absent.
 */
export const readFeed = (bytes: Uint8Array, options: ReadOptions = {}): ReadResult => {
  const slices = startsLikeJson(bytes) ? undefined : findEntrySlices(bytes, maxSlices)
  const ranges = slices === undefined ? undefined : splitIntoRanges(bytes, slices)
  const encoding = detectEncoding(bytes, options.contentType, ranges)
  return slices === undefined || ranges === undefined || !isAsciiLike(encoding)
    ? readWholeDocument(bytes, encoding, options)
    : readUnseenSlices(bytes, encoding, slices, ranges, options)
}

/** Ignores white space and a byte order mark. */
const startsLikeJson = (bytes: Uint8Array): boolean => {
  const first = bytes.subarray(0, 100).find((byte) => byte > 32 && byte < 128)
  return first === 0x7b || first === 0x5b
}

const readWholeDocument = (
  bytes: Uint8Array,
  encoding: DetectedEncoding,
  options: ReadOptions,
  fingerprints?: ReadonlyArray<Fingerprint>
): ReadResult => {
  const { texts, repairs } = decodeRanges(bytes, [[0, bytes.length]], encoding)
  const read = readTexts(texts, options)
  if ("kind" in read) return { _tag: "NotFeed", ...read }
  const slices = fingerprints?.length === read.reading.entries.length ? fingerprints : undefined
  return makeResult(read, encoding, repairs, slices, 0)
}

/**
 * Reads the head, the newest unseen entries and the tail of a document. Without a seen entry, reads all newest entries.
 *
 * If the parser finds another number of entries than the slices, the document is read whole after all.
 */
const readUnseenSlices = (
  bytes: Uint8Array,
  encoding: DetectedEncoding,
  slices: EntrySlices,
  all: ReadonlyArray<ByteRange>,
  options: ReadOptions
): ReadResult => {
  const newest = chooseNewestSlices(bytes, slices, options)
  const isKept = (index: number): boolean => newest?.isKept[index] !== false
  const fingerprints = fingerprintSlices(bytes, slices)
  const kept = newest === undefined ? fingerprints : fingerprints.filter((_, index) => isKept(index))
  const { seenSlices } = options
  const isSeen = (fingerprint: Fingerprint = 0n): boolean => seenSlices?.has(fingerprint) === true
  const seen = seenSlices === undefined ? 0 : kept.filter((fingerprint) => isSeen(fingerprint)).length
  const ranges = seen === 0 && newest === undefined
    ? all
    : findUnseenRanges(bytes, slices, (index) => isSeen(fingerprints[index]) || !isKept(index))
  const { texts, repairs } = decodeRanges(bytes, ranges, encoding)
  const read = readTexts(texts, options)
  return "kind" in read || read.reading.entries.length !== kept.length - seen
    ? readWholeDocument(bytes, encoding, options, newest === undefined ? kept : undefined)
    : makeResult(read, encoding, repairs, kept, seen, newest?.leftOut)
}

/** The dates of entries are only searched in documents with too many entries. */
const chooseNewestSlices = (bytes: Uint8Array, slices: EntrySlices, { maxEntries = defaultMaxEntries }: ReadOptions) =>
  slices.starts.length <= maxEntries ? undefined : chooseNewest(findSliceDates(bytes, slices), maxEntries)

const makeResult = (
  { reading: { leftOut, ...reading }, repairs }: ReadTexts,
  encoding: DetectedEncoding,
  cleanings: ReadonlyArray<string>,
  slices: ReadonlyArray<Fingerprint> | undefined,
  skipped: number,
  unread: LeftOut | undefined = leftOut
): ReadResult => ({
  _tag: "Feed",
  feed: {
    ...reading,
    header: stripControlsIn(reading.header),
    encoding: encoding.name,
    repairs: [...encoding.repairs, ...cleanings, ...repairs]
  },
  slices,
  skipped,
  ...(unread === undefined ? {} : { leftOut: unread })
})

const readTexts = (texts: ReadonlyArray<string>, options: ReadOptions): ReadTexts | NotFeed => {
  const [first = ""] = texts
  const start = first.search(/\S/)
  if (start < 0) return { kind: "empty", reason: "the document is empty" }
  return first[start] === "{" || first[start] === "[" ? readJson(first, options) : readXml(texts, options)
}

interface ReadTexts {
  readonly reading: ParsedFeed
  readonly repairs: ReadonlyArray<string>
}

type NotFeed = Omit<Extract<ReadResult, { readonly _tag: "NotFeed" }>, "_tag">

const makeDialectOptions = (options: ReadOptions): DialectOptions => {
  const { contentLanguage, contentLocation, maxEntries = defaultMaxEntries, url } = options
  const language = contentLanguage?.trim()
  // A list of languages describes the audience and not the text.
  return {
    url: readContentLocation(contentLocation, url) ?? url,
    language: language !== undefined && /^[A-Za-z-]{2,35}$/.test(language) ? language : undefined,
    maxEntries
  }
}

/**
 * The URL of a Content-Location header, which may be relative to the document's URL.
 *
 * Only a public http URL counts. Some servers name a script, a file or a machine behind a proxy.
 */
const readContentLocation = (contentLocation: string | undefined, url: string | undefined): string | undefined => {
  if (contentLocation === undefined) return undefined
  const location = URL.parse(contentLocation.trim(), url)
  return location !== null && /^https?:$/.test(location.protocol) && location.hostname.includes(".")
    ? location.href
    : undefined
}

const readJson = (text: string, options: ReadOptions): ReadTexts | NotFeed => {
  const document = parseJson(text)
  if (document === undefined) return { kind: "other", reason: "the document begins like JSON, but is invalid" }
  if (!isJsonFeed(document)) return { kind: "json", reason: "JSON, but not a JSON Feed" }
  return { reading: readJsonFeed(document, makeDialectOptions(options)), repairs: [] }
}

const parseJson = (text: string): unknown => {
  try {
    return parseExactJson(text, (digits) => digits)
  } catch {
    return undefined // No JSON value is undefined.
  }
}

const readXml = (texts: ReadonlyArray<string>, options: ReadOptions): ReadTexts | NotFeed => {
  const { isCutInEntry, repairs, root } = parseMarkup(texts)
  const [first = ""] = texts
  const feed = findFeedElement(root, !/^\s*</.test(first) && !/<\?xml\s/.test(first.slice(0, maxCharactersBeforeXml)))
  if (!("kind" in feed)) {
    const reading = chooseDialect(feed)(feed, makeDialectOptions(options))
    // As an empty feed, the document would make every entry of the next one new.
    return reading.entries.length === 0 && (isCutInEntry || repairs.includes(openAtEnd))
      ? { kind: "empty", reason: "the feed breaks off before its first entry" }
      : { reading, repairs }
  }
  if (isCutInEntry && getChildElements(root).length === 0) {
    return { kind: "empty", reason: "the document breaks off within its only entry" }
  }
  if (/^\s*</.test(first) && feed.kind !== "html" && endsInFirstTag(root, repairs, first)) {
    return { kind: "empty", reason: "the document breaks off within its first tag" }
  }
  const links = feed.kind === "html" ? readHeadLinks(texts.join(""), options.url) : []
  return links.length === 0 ? feed : { ...feed, links }
}

/** Whether a document ends within its first tag, so that its kind is unknown. */
const endsInFirstTag = (document: Element, repairs: ReadonlyArray<string>, text: string): boolean => {
  const [first, another] = getChildElements(document)
  if (first === undefined) return /^\s*<\?xml(?=\s|$)/.test(text)
  return another === undefined && repairs.includes(openAtEnd) && !hasElements(first) && first.text.trim() === ""
}

const chooseDialect = ({ key }: Element): (root: Element, options: DialectOptions) => ParsedFeed =>
  key === "feed" || key === "entry" ? readAtom : key === "rdf" ? readRdf : readRss
