import { type Fingerprint, ofBytes } from "#domain/Fingerprint.ts"
import { ByteSearch } from "./ByteSearch.ts"

/** Where the entries of a document stand in its bytes: each from its `<` to behind its `>`, in order, never nested. */
export interface EntrySlices {
  readonly starts: ReadonlyArray<number>
  readonly ends: ReadonlyArray<number>
}

const BANG = 33
const SLASH = 47
const COLON = 58
const LESS = 60
const GREATER = 62
const QUESTION = 63
const BRACKET = 93

/**
 * Finds the entries of an XML document without parsing it; `undefined` when that cannot be done safely.
 *
 * Only tags named like the first entry count; sections, comments and instructions are passed over. What this cannot see (an entry in an
 * attribute, an entry that a parser would repair) shows in the number of entries that are read, and the caller compares that.
 */
export const findEntrySlices = (bytes: Uint8Array, most: number): EntrySlices | undefined =>
  new EntryScanner(bytes).scan(most)

/** The fingerprint of each entry's bytes. */
export const fingerprintSlices = (bytes: Uint8Array, { starts, ends }: EntrySlices): ReadonlyArray<Fingerprint> =>
  starts.map((start, index) => ofBytes(bytes.subarray(start, ends[index])))

export type ByteRange = readonly [start: number, end: number]

/** Strings of more than 128 kB are allocated apart, which costs more than to read them. */
const maxRangeBytes = 60_000

/** The whole document, cut before entries where it is large. */
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

/** The document without the entries that `isSeen`; white space between entries is left out with them. */
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
  for (let at = start; at < end; at++) if (!isSpaceByte(bytes[at])) return false
  return true
}

class EntryScanner {
  private readonly bytes: Uint8Array
  private readonly search: ByteSearch
  private readonly starts: Array<number> = []
  private readonly ends: Array<number> = []
  /** The entries' tag with its prefix; empty until the first one is met. */
  private name: Uint8Array = new Uint8Array()
  private at = 0
  private depth = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.search = new ByteSearch(bytes)
  }

  scan(most: number): EntrySlices | undefined {
    const { bytes } = this
    while ((this.at = this.search.find(LESS, this.at)) >= 0) {
      const next = bytes[this.at + 1]
      if (next === BANG || next === QUESTION) {
        if (!this.passOver(next)) return undefined
      } else if (!(next === SLASH ? this.endTag() : this.startTag()) || this.starts.length > most) return undefined
    }
    return this.depth > 0 || this.starts.length === 0 ? undefined : { starts: this.starts, ends: this.ends }
  }

  /** False when it has no end, or is a DTD that declares something. */
  private passOver(kind: number): boolean {
    if (kind === QUESTION) return this.skipBehind(QUESTION, 1)
    if (this.startsWith(SECTION)) return this.skipBehind(BRACKET, 2)
    if (this.startsWith(COMMENT)) return this.skipBehind(DASH, 2)
    const end = this.search.find(GREATER, this.at)
    const subset = this.bytes.subarray(this.at, end).includes(OPEN_BRACKET)
    this.at = end + 1
    return end >= 0 && !subset
  }

  /** Moves behind the next `>` that stands behind so many of the byte. */
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

  /** The name at the current `<`, if it is `item` or `entry` with or without a prefix. */
  private entryName(): Uint8Array {
    const { bytes } = this
    const start = this.at + 1
    let local = start
    let end = start
    for (; end - start < maxNameBytes && !isNameEnd(bytes[end]); end++) if (bytes[end] === COLON) local = end + 1
    const name = bytes.subarray(start, end)
    return isEqual(bytes, local, end, ITEM) || isEqual(bytes, local, end, ENTRY) ? name : noBytes
  }

  private isNamed(start: number): boolean {
    const { bytes, name } = this
    for (let at = 0; at < name.length; at++) if (bytes[start + at] !== name[at]) return false
    return isNameEnd(bytes[start + name.length])
  }

  private startsWith(opening: Uint8Array): boolean {
    for (let at = 0; at < opening.length; at++) if (this.bytes[this.at + at] !== opening[at]) return false
    return true
  }
}

const maxNameBytes = 40
const DASH = 45
const OPEN_BRACKET = 91
const noBytes = new Uint8Array()
const ascii = new TextEncoder()
const SECTION = ascii.encode("<![CDATA[")
const COMMENT = ascii.encode("<!--")
const ITEM = ascii.encode("item")
const ENTRY = ascii.encode("entry")

const isEqual = (bytes: Uint8Array, start: number, end: number, word: Uint8Array): boolean => {
  if (end - start !== word.length) return false
  for (let at = 0; at < word.length; at++) if (bytes[start + at] !== word[at]) return false
  return true
}

const isSpaceByte = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

const isNameEnd = (byte: number | undefined): boolean =>
  isSpaceByte(byte) || byte === GREATER || byte === SLASH || byte === LESS || byte === undefined
