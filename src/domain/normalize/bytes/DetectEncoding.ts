import { codePages } from "./CodePages.ts"
import { canonicalizeLabel } from "./EncodingNames.ts"
import type { ByteRange } from "./EntrySlices.ts"
import { findMetaCharset } from "./MetaCharset.ts"

/** The encoding of a document. */
export interface DetectedEncoding {
  /** WHATWG name. */
  readonly name: string
  readonly repairs: ReadonlyArray<string>
  /** Each byte is one character. */
  readonly isSingleByte: boolean
  /** The whole text, if the detection decoded the document. */
  readonly decoded: DecodedParts | undefined
}

/** Parts of a document and their texts. */
export interface DecodedParts {
  readonly ranges: ReadonlyArray<ByteRange>
  readonly texts: ReadonlyArray<string>
}

/** Hints about the encoding, known before decoding. */
interface EncodingHints {
  /** From a byte order mark or from the zero bytes around the first `<`. Always right. */
  readonly certain: string | undefined
  /** Names from the `charset` of the Content-Type header and from the XML declaration, in this order. */
  readonly declared: ReadonlyArray<string>
  readonly isPage: boolean
}

const xmlEncoding = /<\?xml\b[^>]{0,200}?\bencoding\s*=\s*(?:"([^"]{1,60})|'([^']{1,60})|([^\s"'?>]{1,60}))/
const charsetParameter = /charset\s*=\s*(?:"([^"]{1,60})|'([^']{1,60})|([^"';]{1,60}))/i
const pageStart = /<(?:!doctype\s+html|html)[\s>]/i
const feedStart = /<(?:rss|feed|rdf:rdf)[\s>]/i

const readHints = (bytes: Uint8Array, contentType = ""): EncodingHints => {
  const head = readHead(bytes)
  const http = findLabel(charsetParameter, contentType)
  return {
    certain: findByteOrderMark(bytes) ?? findWideTag(bytes) ?? findWideText(bytes, http),
    declared: [http, findLabel(xmlEncoding, head)].flatMap((label) =>
      label === undefined ? [] : canonicalizeLabel(label) ?? []
    ),
    isPage: (pageStart.test(head) || /html/i.test(contentType)) && !feedStart.test(head)
  }
}

const findLabel = (pattern: RegExp, text: string): string | undefined => pattern.exec(text)?.slice(1).find(Boolean)

/** The XML declaration, or the first 512 bytes of a document without a declaration. */
const readHead = (bytes: Uint8Array): string => {
  let head = ""
  const declaration = bytes[0] === 0x3c && bytes[1] === 0x3f ? bytes.subarray(0, 512).indexOf(0x3e) : -1
  const end = declaration >= 0 ? declaration : Math.min(bytes.length, 512)
  for (let at = 0; at < end; at++) head += String.fromCharCode(bytes[at] ?? 0)
  return head
}

const findByteOrderMark = ([a, b, c, d]: Uint8Array): string | undefined => {
  if (a === 0xef && b === 0xbb && c === 0xbf) return "utf-8"
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? "utf-32le" : "utf-16le"
  if (a === 0xfe && b === 0xff) return "utf-16be"
  return a === 0 && b === 0 && c === 0xfe && d === 0xff ? "utf-32be" : undefined
}

const findWideTag = ([a, b, c, d]: Uint8Array): string | undefined => {
  if (a === 0x3c && b === 0) return c === 0 && d === 0 ? "utf-32le" : "utf-16le"
  if (a === 0 && b === 0x3c) return "utf-16be"
  return a === 0 && b === 0 && c === 0 && d === 0x3c ? "utf-32be" : undefined
}

/** UTF-16 without a byte order mark, as the header says. Every second byte of its ASCII characters is zero. */
const findWideText = (bytes: Uint8Array, http: string | undefined): string | undefined => {
  if (http === undefined || !/^\s*utf-?16/i.test(http)) return undefined
  const zero = bytes.subarray(0, 2048).indexOf(0)
  return zero < 0 ? undefined : zero % 2 === 1 ? "utf-16le" : "utf-16be"
}

/**
 * Detects the encoding of a document. The first rule that applies decides:
 *
 * 1. A byte order mark.
 * 2. Valid UTF-8 is UTF-8 in spite of other declarations, because publishers' servers often declare a wrong charset.
 * 3. The HTTP charset, the encoding of the XML declaration or the `<meta charset>` of a page, if the bytes decode without an error.
 * 4. The declared encoding, with U+FFFD for invalid bytes. Without a declaration: windows-1252.
 *
 * A trial decodes the document. `ranges` cut the document into parts, so that no text is too long. The cuts are between characters of
 * any encoding with ASCII's `<`.
 */
export const detectEncoding = (
  bytes: Uint8Array,
  contentType?: string,
  ranges: ReadonlyArray<ByteRange> = [[0, bytes.length]]
): DetectedEncoding => {
  const declaration = readHints(bytes, contentType)
  if (declaration.certain === undefined) return detectByTrial({ bytes, ranges }, declaration)
  const name = declaration.certain
  return name.startsWith("utf-32")
    ? {
      name,
      repairs: [],
      isSingleByte: false,
      decoded: { ranges: [[0, bytes.length]], texts: [decodeUtf32(bytes, name === "utf-32le")] }
    }
    : decodeStrictly({ bytes, ranges }, name) ?? makeLossyEncoding(name)
}

interface DocumentParts {
  readonly bytes: Uint8Array
  readonly ranges: ReadonlyArray<ByteRange>
}

/** The text of a document, or of a part cut between characters. Not cleaned, see `cleanText`. */
export const decodeAs = (bytes: Uint8Array, name: string): string => getDecoder(name, false)?.decode(bytes) ?? ""

/** Whether tags have the same bytes as in ASCII, and no other character contains these bytes. */
export const isAsciiLike = ({ name, isSingleByte }: DetectedEncoding): boolean => isSingleByte || isAsciiSuperset(name)

const isAsciiSuperset = (name: string): boolean =>
  name === "utf-8" || /^(?:windows-|iso-8859-|koi8-|euc-|macintosh|x-mac-|ibm866)/.test(name)

const decodeUtf32 = (bytes: Uint8Array, little: boolean): string => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let text = ""
  for (let at = 0; at + 3 < bytes.length; at += 4) {
    const code = view.getUint32(at, little)
    if (code === 0xfeff && at === 0) continue
    text += code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? "\ufffd" : String.fromCodePoint(code)
  }
  return text
}

const detectByTrial = (parts: DocumentParts, hints: EncodingHints): DetectedEncoding => {
  const utf8 = decodeStrictly(parts, "utf-8")
  const names = utf8 === undefined || hints.declared.length === 0
    ? addMetaCharset(parts.bytes, hints, utf8)
    : hints.declared
  const [declared] = names
  if (utf8 !== undefined) {
    if (declared === undefined || declared === "utf-8") return utf8
    // Plain ASCII is valid in nearly every encoding, so the declaration counts.
    if (utf8.isSingleByte && !declared.startsWith("iso-2022")) return { ...utf8, name: declared }
    if (isMoreLikelyUtf8(declared, utf8)) return { ...utf8, repairs: [`declared ${declared}, but is utf-8`] }
  }
  for (const name of names) {
    const decoding = decodeStrictly(parts, name)
    if (decoding !== undefined) {
      return name === declared ? decoding : { ...decoding, repairs: [`the header says ${declared}, but it is ${name}`] }
    }
  }
  return chooseLossyEncoding(parts.bytes, declared)
}

/** Adds the charset of a page's `<meta>`. Pages in ASCII do not need a charset, unless an escape character switches to Japanese. */
const addMetaCharset = (
  bytes: Uint8Array,
  { declared, isPage }: EncodingHints,
  utf8: StrictDecoding | undefined
): ReadonlyArray<string> => {
  if (!isPage || utf8?.isSingleByte === true && !bytes.includes(escapeCharacter)) return declared
  const label = findMetaCharset(bytes)
  const name = label === undefined ? undefined : canonicalizeLabel(label)
  return name === undefined ? declared : [...declared, name]
}

const escapeCharacter = 0x1b

/**
 * Whether valid UTF-8 beyond ASCII outweighs a declaration of another encoding.
 *
 * A few characters of a multi-byte encoding can look like UTF-8 by accident.
 */
const isMoreLikelyUtf8 = (declared: string, { excess }: StrictDecoding): boolean =>
  !/^(?:gb|big5|euc-|shift_jis|iso-2022)/.test(declared) || excess > 8

const chooseLossyEncoding = (bytes: Uint8Array, declared: string | undefined): DetectedEncoding => {
  if (declared !== undefined && declared !== "utf-8") return makeLossyEncoding(declared)
  return isMostlyBroken(decodeAs(bytes, "utf-8"))
    ? { ...makeLossyEncoding("windows-1252"), repairs: ["not utf-8: read as windows-1252"] }
    : makeLossyEncoding("utf-8")
}

const isMostlyBroken = (text: string): boolean => {
  let broken = 0
  let whole = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0xfffd) broken++
    else if (code > 127) whole++
  }
  return broken > whole
}

const makeLossyEncoding = (name: string): DetectedEncoding => ({
  name,
  repairs: [`bytes that are no ${name} replaced`],
  isSingleByte: false,
  decoded: undefined
})

interface StrictDecoding extends DetectedEncoding {
  /** Number of bytes minus number of characters. */
  readonly excess: number
}

/** Decodes the parts, or `undefined` when a byte is invalid in this encoding. */
const decodeStrictly = ({ bytes, ranges }: DocumentParts, name: string): StrictDecoding | undefined => {
  const decoder = getDecoder(name, true)
  if (decoder === undefined) return undefined
  const cuts = isAsciiSuperset(name) ? ranges : [[0, bytes.length]] as const
  const texts: Array<string> = []
  let length = 0
  try {
    for (const [start, end] of cuts) {
      const text = decoder.decode(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end))
      length += text.length
      texts.push(text)
    }
  } catch {
    return undefined // not in this encoding
  }
  return {
    name,
    repairs: [],
    isSingleByte: length === bytes.length,
    decoded: { ranges: cuts, texts },
    excess: bytes.length - length
  }
}

interface Decoder {
  readonly decode: (bytes: Uint8Array) => string
}

const decoders = new Map<string, Decoder | undefined>()

const getDecoder = (label: string, fatal: boolean): Decoder | undefined => {
  const key = fatal ? `${label}!` : label
  if (!decoders.has(key) && decoders.size < 500) decoders.set(key, makeDecoder(label, fatal))
  return decoders.get(key)
}

const makeDecoder = (name: string, fatal: boolean): Decoder | undefined => {
  const upperHalf = codePages.get(name)
  if (upperHalf !== undefined) return makePageDecoder(upperHalf, fatal)
  try {
    return new TextDecoder(name, { fatal })
  } catch {
    return undefined // no such encoding
  }
}

const makePageDecoder = (upperHalf: string, fatal: boolean): Decoder => ({
  decode: (bytes) => {
    let text = ""
    for (const byte of bytes) text += byte < 128 ? String.fromCharCode(byte) : upperHalf[byte - 128] ?? "\ufffd"
    if (fatal && text.includes("\ufffd")) throw new TypeError("a byte without a character")
    return text
  }
})
