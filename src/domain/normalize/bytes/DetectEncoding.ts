import { alignWords } from "./ByteSearch.ts"
import { WINDOWS_1252 } from "#domain/normalize/xml/CharacterReferences.ts"
import type { ByteRange } from "./EntrySlices.ts"

/** How a document's bytes are to be read. */
export interface DetectedEncoding {
  /** WHATWG name. */
  readonly name: string
  readonly repairs: ReadonlyArray<string>
  /** Each byte is a character. */
  readonly isSingleByte: boolean
  /** The whole text, where finding the encoding gave it already. */
  readonly decoded: DecodedParts | undefined
}

/** The text of each of these parts of a document. */
export interface DecodedParts {
  readonly ranges: ReadonlyArray<ByteRange>
  readonly texts: ReadonlyArray<string>
}

/** What a document says about its encoding before anything is decoded. */
interface EncodingHints {
  /** From a byte order mark, or from the zero bytes around the first `<`: certain. */
  readonly certain: string | undefined
  /** `charset` of the Content-Type header, lower case. */
  readonly http: string | undefined
  /** `encoding` of the XML declaration, lower case. */
  readonly xml: string | undefined
}

const xmlEncoding = /<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})/
const charsetParameter = /charset\s*=\s*["']?\s*([^"';\s]{1,40})/i

const readHints = (bytes: Uint8Array, contentType: string | undefined): EncodingHints => ({
  certain: findByteOrderMark(bytes) ?? findWideTag(bytes),
  http: contentType === undefined ? undefined : charsetParameter.exec(contentType)?.[1]?.toLowerCase(),
  xml: xmlEncoding.exec(readHead(bytes))?.[1]?.toLowerCase()
})

/** The XML declaration, or the beginning of a document that does not begin with one. */
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

/**
 * Finds the encoding.
 *
 * A byte order mark decides; else bytes that are valid UTF-8 are UTF-8 whatever is declared (publishers' servers declare what they please);
 * else the HTTP charset, then the XML declaration, whichever fits without an error; else the declared one with U+FFFD for what does not fit;
 * undeclared bytes that are no UTF-8 are windows-1252.
 *
 * To try an encoding is to decode: `ranges` cut the document, between characters of encodings that have ASCII's `<`, into parts whose texts
 * are not too long.
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

/** The text of a whole document, or of a part that was cut between characters; as it came, see `cleaned`. */
export const decodeAs = (bytes: Uint8Array, name: string): string => getDecoder(name, false)?.decode(bytes) ?? ""

/** Whether `<` and the letters of tags are the bytes that they are in ASCII, and no part of other characters. */
export const isAsciiLike = ({ name, isSingleByte }: DetectedEncoding): boolean => isSingleByte || isAsciiSuperset(name)

const isAsciiSuperset = (name: string): boolean =>
  name === "utf-8" || /^(?:windows-|iso-8859-|koi8-|euc-|macintosh|x-mac-|ibm866)/.test(name)

/** Without characters that no document may have, and what had to be done. */
export const cleanText = (text: string): { readonly text: string; readonly repairs: ReadonlyArray<string> } => {
  if (!uncleanCharacter.test(text)) return { text, repairs: [] }
  const legal = text.replace(forbiddenCharacters, "")
  const repaired = legal.replace(c1Controls, (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80] ?? character)
  return {
    text: repaired,
    repairs: [
      ...legal === text ? [] : ["control characters removed"],
      ...repaired === legal ? [] : ["windows-1252 characters inside other text"]
    ]
  }
}

const uncleanCharacter = /[\0-\x08\x0b\x0c\x0e-\x1f\x80-\x9f\ufffe\uffff]/
const forbiddenCharacters = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]+/g
/** Unicode has controls there that nobody uses: such bytes of windows-1252 were taken for Latin-1 somewhere on the way. */
const c1Controls = /[\x80-\x9f]/g

/**
 * Whether `cleaned` would have nothing to do with the text of these bytes; false is no answer.
 *
 * Sixteen bytes at a time, which is several times faster than to search the text: most have neither a control nor a character beyond ASCII.
 * Only where one has, its four bytes are looked at one by one.
 */
export const isCleanUtf8 = (bytes: Uint8Array): boolean => {
  const { words, head } = alignWords(bytes)
  const last = words.length & ~3
  for (let at = 0; at < last; at += 4) {
    const first = markOddBytes(words[at] ?? 0)
    const second = markOddBytes(words[at + 1] ?? 0)
    const third = markOddBytes(words[at + 2] ?? 0)
    const fourth = markOddBytes(words[at + 3] ?? 0)
    if (((first | second | third | fourth) & highBits) === 0) continue
    const start = head + 4 * at
    if ((first & highBits) !== 0 && hasUncleanBytes(bytes, start, start + 4)) return false
    if ((second & highBits) !== 0 && hasUncleanBytes(bytes, start + 4, start + 8)) return false
    if ((third & highBits) !== 0 && hasUncleanBytes(bytes, start + 8, start + 12)) return false
    if ((fourth & highBits) !== 0 && hasUncleanBytes(bytes, start + 12, start + 16)) return false
  }
  return !hasUncleanBytes(bytes, 0, head) && !hasUncleanBytes(bytes, head + 4 * last, bytes.length)
}

const highBits = 0x80808080

/** The highest bit of a byte is set where it is below 32, as line ends are too, or above 127. */
const markOddBytes = (word: number): number => word - 0x20202020 | word

const CLEAN = 0
const FORBIDDEN_BYTE = 1
/** With it begin U+0080 to U+00BF. */
const LEADS_TO_CONTROL = 2
/** With it begin U+F000 to U+FFFF. */
const LEADS_TO_LAST = 3

const byteKinds = new Uint8Array(256)
for (let byte = 0; byte < 32; byte++) if (byte !== 9 && byte !== 10 && byte !== 13) byteKinds[byte] = FORBIDDEN_BYTE
byteKinds[0xc2] = LEADS_TO_CONTROL
byteKinds[0xef] = LEADS_TO_LAST

const hasUncleanBytes = (bytes: Uint8Array, start: number, end: number): boolean => {
  for (let at = start; at < end; at++) {
    const kind = byteKinds[bytes[at] ?? 32] ?? CLEAN
    if (
      kind !== CLEAN && (kind === FORBIDDEN_BYTE || isUncleanSequence(kind, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0))
    ) {
      return true
    }
  }
  return false
}

/** U+0080 to U+009F, U+FFFE and U+FFFF. */
const isUncleanSequence = (kind: number, second: number, third: number): boolean =>
  kind === LEADS_TO_CONTROL ? second < 0xa0 : second === 0xbf && third >= 0xbe

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

const detectByTrial = (parts: DocumentParts, { http, xml }: EncodingHints): DetectedEncoding => {
  const first = canonicalizeLabel(http) ?? canonicalizeLabel(xml)
  const utf8 = decodeStrictly(parts, "utf-8")
  if (utf8 !== undefined) {
    if (first === undefined || first === "utf-8") return utf8
    // Plain ASCII is in nearly every encoding: the publisher may be right.
    if (utf8.isSingleByte && !first.startsWith("iso-2022")) return { ...utf8, name: first }
    if (isMoreLikelyUtf8(first, utf8)) return { ...utf8, repairs: [`declared ${first}, but is utf-8`] }
  }
  for (const name of [http, xml].flatMap((label) => canonicalizeLabel(label) ?? [])) {
    const fitting = decodeStrictly(parts, name)
    if (fitting !== undefined) {
      return name === first ? fitting : { ...fitting, repairs: [`the header says ${first}, but it is ${name}`] }
    }
  }
  return chooseLossyEncoding(parts.bytes, first)
}

/**
 * Whether bytes that are valid UTF-8, and not all ASCII, are UTF-8 although another encoding is declared.
 *
 * A few characters of a multi-byte encoding may look like UTF-8 by accident.
 */
const isMoreLikelyUtf8 = (declared: string, { excess }: StrictDecoding): boolean =>
  !/^(?:gb|big5|euc-|shift_jis|iso-2022)/.test(declared) || excess > 8

const chooseLossyEncoding = (bytes: Uint8Array, first: string | undefined): DetectedEncoding => {
  if (first !== undefined && first !== "utf-8") return makeLossyEncoding(first)
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
  /** Bytes more than characters. */
  readonly excess: number
}

/** `undefined` when the bytes are not in this encoding. */
const decodeStrictly = ({ bytes, ranges }: DocumentParts, name: string): StrictDecoding | undefined => {
  const fitting = getDecoder(name, true)
  if (fitting === undefined) return undefined
  const own = isAsciiSuperset(name) ? ranges : [[0, bytes.length]] as const
  const texts: Array<string> = []
  let length = 0
  try {
    for (const [start, end] of own) {
      const text = fitting.decode(start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end))
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
    decoded: { ranges: own, texts },
    excess: bytes.length - length
  }
}

/** UTF-16 and 32 cannot be declared in letters that were just read as ASCII. */
const wideEncoding = /^(?:utf-?(?:16|32)|ucs|unicode|iso-10646)/

const canonicalizeLabel = (label: string | undefined): string | undefined => {
  if (label === undefined || label === "utf-8" || wideEncoding.test(label)) return label === "utf-8" ? label : undefined
  const spellings = [
    label,
    label.replaceAll("_", "-"),
    label.replace(/^(?:cp|win|windows|ansi)[-_]?(?=\d)/, "windows-"),
    label.replace(/^iso[-_]?latin[-_]?/, "latin")
  ]
  return spellings.flatMap((spelling) => getDecoder(spelling, true)?.encoding ?? []).find((name) =>
    !name.startsWith("utf-16")
  )
}

type Decoder = InstanceType<typeof TextDecoder>

const decoders = new Map<string, Decoder | undefined>()

const getDecoder = (label: string, fatal: boolean): Decoder | undefined => {
  const key = fatal ? `${label}!` : label
  if (!decoders.has(key) && decoders.size < 500) decoders.set(key, makeDecoder(label, fatal))
  return decoders.get(key)
}

const makeDecoder = (label: string, fatal: boolean): Decoder | undefined => {
  try {
    return new TextDecoder(label, { fatal })
  } catch {
    return undefined // no such encoding
  }
}
