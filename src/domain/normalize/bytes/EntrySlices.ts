import { type Fingerprint, hashBytes } from "#domain/Fingerprint.ts"
import { isNameEnd, isSpace } from "#domain/normalize/xml/Ascii.ts"
import { ByteSearch } from "./ByteSearch.ts"

const BANG = 33
const DASH = 45
const SLASH = 47
const COLON = 58
const LESS = 60
const GREATER = 62
const QUESTION = 63
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93

/** The byte ranges of a document's entries: each from its `<` to behind its `>`, in order and never nested. */
export interface EntrySlices {
  readonly starts: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

/**
 * Finds the entries of an XML document without parsing; `undefined` when the document is too odd.
 *
 * Only tags with the name of the first entry count. Sections, comments and instructions are skipped. The scanner misses an entry in an
 * attribute, or an entry that a parser repairs. Then the parser reads another number of entries, and the caller compares both numbers.
 */
export const findEntrySlices = (bytes: Uint8Array, maxEntries: number): EntrySlices | undefined =>
  new EntryScanner(bytes).scan(maxEntries)

/** The fingerprint of each entry's bytes. */
export const fingerprintSlices = (bytes: Uint8Array, { starts, ends }: EntrySlices): ReadonlyArray<Fingerprint> =>
  starts.map((start, index) => hashBytes(bytes.subarray(start, ends[index])))

export type ByteRange = readonly [start: number, end: number]

/** V8 allocates strings above 128 kB apart, which costs more than reading them. */
const maxRangeBytes = 60_000

/** The ranges of the whole document. Large documents are cut before entries. */
export const splitIntoRanges = (bytes: Uint8Array, { starts }: EntrySlices): ReadonlyArray<ByteRange> => {
  if (bytes.length <= maxRangeBytes) return [[0, bytes.length]]
  const ranges: Array<ByteRange> = []
  let from = 0
  for (const [index, start] of starts.entries()) {
    if ((starts[index + 1] ?? bytes.length) - from <= maxRangeBytes || start === from) continue
    ranges.push([from, start])
    from = start
  }
  return [...ranges, [from, bytes.length]]
}

/** The ranges of the document without its seen entries, and without the white space between entries. */
export const findUnseenRanges = (
  bytes: Uint8Array,
  { starts, ends }: EntrySlices,
  isSeen: (index: number) => boolean
): ReadonlyArray<ByteRange> => {
  const ranges: Array<ByteRange> = [[0, starts[0] ?? 0]]
  starts.forEach((start, index) => {
    const end = ends[index] ?? start
    const next = starts[index + 1] ?? bytes.length
    if (!isSeen(index)) ranges.push([start, end])
    if (!isBlank(bytes, end, next)) ranges.push([end, next])
  })
  return ranges
}

const isBlank = (bytes: Uint8Array, start: number, end: number): boolean => {
  for (let at = start; at < end; at++) if (!isSpace(bytes[at] ?? 0)) return false
  return true
}

class EntryScanner {
  private readonly bytes: Uint8Array
  private readonly search: ByteSearch
  private readonly starts: Array<number> = []
  private readonly ends: Array<number> = []
  /** Tag name of the entries, with its prefix. Empty before the first entry. */
  private name: Uint8Array = new Uint8Array()
  private at = 0
  private depth = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.search = new ByteSearch(bytes)
  }

  scan(maxEntries: number): EntrySlices | undefined {
    const { bytes } = this
    while ((this.at = this.search.find(LESS, this.at)) >= 0) {
      const next = bytes[this.at + 1]
      if (next === BANG || next === QUESTION) {
        if (!this.passOver(next)) return undefined
      } else if (!(next === SLASH ? this.endTag() : this.startTag()) || this.starts.length > maxEntries) {
        return undefined
      }
    }
    return this.depth > 0 || this.starts.length === 0 ? undefined : { starts: this.starts, ends: this.ends }
  }

  /** False for markup without an end, and for a DTD with declarations. */
  private passOver(kind: number): boolean {
    if (kind === QUESTION) return this.skipBehind(QUESTION, 1)
    if (this.startsWith(sectionStart)) return this.skipBehind(CLOSE_BRACKET, 2)
    if (this.startsWith(commentStart)) return this.skipBehind(DASH, 2)
    const end = this.search.find(GREATER, this.at)
    const subset = this.bytes.subarray(this.at, end).includes(OPEN_BRACKET)
    this.at = end + 1
    return end >= 0 && !subset
  }

  /** Moves behind the next `>` that follows `times` repetitions of the byte. */
  private skipBehind(byte: number, times: number): boolean {
    const { bytes, search } = this
    for (let at = search.find(byte, this.at + 2); at >= 0; at = search.find(byte, at + 1)) {
      if (bytes[at + times] === GREATER && (times === 1 || bytes[at + 1] === byte)) {
        this.at = at + times + 1
        return true
      }
    }
    return false
  }

  private startTag(): boolean {
    const start = this.at
    if (this.name.length === 0) this.name = this.entryName()
    if (this.name.length === 0 || !this.isNamed(start + 1)) {
      this.at = start + 1
      return true
    }
    const end = this.search.find(GREATER, start)
    this.at = end + 1
    const alone = this.bytes[end - 1] === SLASH
    if (this.depth === 0) this.starts.push(start)
    if (!alone) this.depth++
    else if (this.depth === 0) this.ends.push(end + 1)
    return end >= 0
  }

  private endTag(): boolean {
    const start = this.at
    this.at = start + 2
    if (this.depth === 0 || !this.isNamed(start + 2)) return true
    const end = this.search.find(GREATER, start)
    this.at = end + 1
    if (--this.depth === 0) this.ends.push(end + 1)
    return end >= 0
  }

  /** The name at the current `<`, if the local name is `item` or `entry`; else empty. */
  private entryName(): Uint8Array {
    const { bytes } = this
    const start = this.at + 1
    let local = start
    let end = start
    for (; end - start < maxNameBytes && !isNameEndByte(bytes[end]); end++) if (bytes[end] === COLON) local = end + 1
    const name = bytes.subarray(start, end)
    return isEqual(bytes, local, end, itemName) || isEqual(bytes, local, end, entryName) ? name : noBytes
  }

  private isNamed(start: number): boolean {
    const { bytes, name } = this
    for (let at = 0; at < name.length; at++) if (bytes[start + at] !== name[at]) return false
    return isNameEndByte(bytes[start + name.length])
  }

  private startsWith(opening: Uint8Array): boolean {
    for (let at = 0; at < opening.length; at++) if (this.bytes[this.at + at] !== opening[at]) return false
    return true
  }
}

const maxNameBytes = 40
const noBytes = new Uint8Array()
const encoder = new TextEncoder()
const sectionStart = encoder.encode("<![CDATA[")
const commentStart = encoder.encode("<!--")
const itemName = encoder.encode("item")
const entryName = encoder.encode("entry")

const isEqual = (bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean => {
  if (end - start !== word.length) return false
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word[at]) return false
  return true
}

/** A name also ends where the bytes end. */
const isNameEndByte = (byte: number | undefined): boolean => byte === undefined || isNameEnd(byte)
