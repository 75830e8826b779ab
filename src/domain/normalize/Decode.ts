import { WINDOWS_1252 } from "./Entities.ts"

/** A document's text, and how it was come by. */
export interface Decoded {
  readonly text: string
  /** WHATWG name. */
  readonly encoding: string
  readonly repairs: ReadonlyArray<string>
}

/** What a document says about its encoding before anything is decoded. */
interface Declaration {
  /** From a byte order mark, or from the zero bytes around the first `<`: certain. */
  readonly certain: string | undefined
  /** `charset` of the Content-Type header, lower case. */
  readonly http: string | undefined
  /** `encoding` of the XML declaration, lower case. */
  readonly xml: string | undefined
}

const DECLARED = /<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})/
const CHARSET = /charset\s*=\s*["']?\s*([^"';\s]{1,40})/i

/** Looks at the first bytes and the header only. */
const declarationOf = (bytes: Uint8Array, contentType?: string): Declaration => ({
  certain: byMark(bytes) ?? byZeros(bytes),
  http: contentType === undefined ? undefined : CHARSET.exec(contentType)?.[1]?.toLowerCase(),
  xml: DECLARED.exec(ascii(bytes))?.[1]?.toLowerCase()
})

/** The XML declaration, or the beginning of a document that does not begin with one. */
const ascii = (bytes: Uint8Array): string => {
  let head = ""
  const declaration = bytes[0] === 0x3c && bytes[1] === 0x3f ? bytes.subarray(0, 512).indexOf(0x3e) : -1
  const end = declaration >= 0 ? declaration : Math.min(bytes.length, 512)
  for (let at = 0; at < end; at++) head += String.fromCharCode(bytes[at] ?? 0)
  return head
}

const byMark = ([a, b, c, d]: Uint8Array): string | undefined => {
  if (a === 0xef && b === 0xbb && c === 0xbf) return "utf-8"
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? "utf-32le" : "utf-16le"
  if (a === 0xfe && b === 0xff) return "utf-16be"
  return a === 0 && b === 0 && c === 0xfe && d === 0xff ? "utf-32be" : undefined
}

const byZeros = ([a, b, c, d]: Uint8Array): string | undefined => {
  if (a === 0x3c && b === 0) return c === 0 && d === 0 ? "utf-32le" : "utf-16le"
  if (a === 0 && b === 0x3c) return "utf-16be"
  return a === 0 && b === 0 && c === 0 && d === 0x3c ? "utf-32be" : undefined
}

/**
 * Bytes to text.
 *
 * A byte order mark decides; else bytes that are valid UTF-8 are UTF-8 whatever is declared (publishers' servers declare what they please);
 * else the HTTP charset, then the XML declaration, whichever fits without an error; else the declared one with U+FFFD for what does not fit;
 * undeclared bytes that are no UTF-8 are windows-1252. The text is as it came: see `cleaned`.
 */
export const decodeBytes = (bytes: Uint8Array, contentType?: string): Decoded => {
  const declaration = declarationOf(bytes, contentType)
  return declaration.certain === undefined ? byTrial(bytes, declaration) : byMarkOrZeros(bytes, declaration.certain)
}

/** A part of a document whose encoding is known. */
export const decodePart = (bytes: Uint8Array, encoding: string): string => decoder(encoding, false)?.decode(bytes) ?? ""

/** Whether `<` and the letters of tags are the bytes that they are in ASCII, and no part of other characters. */
export const isAsciiLike = (encoding: string): boolean =>
  encoding === "utf-8" || /^(?:windows-|iso-8859-|koi8-|euc-|macintosh|x-mac-|ibm866)/.test(encoding)

/** Without characters that no document may have, and what had to be done. `ascii`: the text has no others. */
export const cleaned = (
  text: string,
  ascii: boolean
): { readonly text: string; readonly repairs: ReadonlyArray<string> } => {
  const legal = hasAny(text, FORBIDDEN) ? text.replace(CONTROLS, "") : text
  const repairs = legal === text ? [] : ["control characters removed"]
  if (ascii || !hasAny(legal, MISTAKEN)) return { text: legal, repairs }
  const repaired = legal.replace(
    /[\x80-\x9f]/g,
    (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80] ?? character
  )
  return { text: repaired, repairs: [...repairs, "windows-1252 characters inside other text"] }
}

const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]+/g
const FORBIDDEN = [...Array(0x20).keys(), 0xfffe, 0xffff].filter((code) => code !== 9 && code !== 10 && code !== 13)
  .map((code) => String.fromCharCode(code))

/** What windows-1252 has where Unicode has controls that nobody uses: such bytes were taken for Latin-1 somewhere on the way. */
const MISTAKEN = [...Array(0x20).keys()].map((code) => String.fromCharCode(0x80 + code))

/** A search for each character is several times faster than one scan for their class. */
const hasAny = (text: string, characters: ReadonlyArray<string>): boolean =>
  characters.some((character) => text.includes(character))

const byMarkOrZeros = (bytes: Uint8Array, encoding: string): Decoded => {
  if (encoding.startsWith("utf-32")) return { text: utf32(bytes, encoding === "utf-32le"), encoding, repairs: [] }
  const strict = attempt(bytes, encoding)
  return strict === undefined ? lossy(bytes, encoding) : { text: strict, encoding, repairs: [] }
}

const utf32 = (bytes: Uint8Array, little: boolean): string => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let text = ""
  for (let at = 0; at + 3 < bytes.length; at += 4) {
    const code = view.getUint32(at, little)
    if (code === 0xfeff && at === 0) continue
    text += code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? "\ufffd" : String.fromCodePoint(code)
  }
  return text
}

const byTrial = (bytes: Uint8Array, { http, xml }: Declaration): Decoded => {
  const declared = [http, xml].flatMap((label) => canonical(label) ?? [])
  const first = declared[0]
  const utf8 = attempt(bytes, "utf-8")
  if (utf8 !== undefined && (first === undefined || first === "utf-8" || winsOver(first, bytes, utf8))) {
    const plain = utf8.length === bytes.length && first !== undefined
    const repairs = plain || first === undefined || first === "utf-8" ? [] : [`declared ${first}, but is utf-8`]
    return { text: utf8, encoding: plain ? first : "utf-8", repairs }
  }
  for (const encoding of declared) {
    const text = attempt(bytes, encoding)
    if (text !== undefined) {
      const repairs = encoding === first ? [] : [`the header says ${first}, but it is ${encoding}`]
      return { text, encoding, repairs }
    }
  }
  return byForce(bytes, first)
}

const MULTIBYTE = /^(?:gb|big5|euc-|shift_jis|iso-2022)/

/**
 * Whether bytes that are valid UTF-8 are UTF-8 although another encoding is declared.
 *
 * A few characters of a multi-byte encoding may look like UTF-8 by accident, and ISO-2022 looks like ASCII.
 */
const winsOver = (declared: string, bytes: Uint8Array, utf8: string): boolean =>
  !MULTIBYTE.test(declared) ||
  (declared.startsWith("iso-2022") ? false : bytes.length - utf8.length > 8 || bytes.length === utf8.length)

const byForce = (bytes: Uint8Array, first: string | undefined): Decoded => {
  if (first !== undefined && first !== "utf-8") return lossy(bytes, first)
  const utf8 = lossy(bytes, "utf-8")
  return mostlyBroken(utf8.text)
    ? { ...lossy(bytes, "windows-1252"), repairs: ["not utf-8: read as windows-1252"] }
    : utf8
}

const mostlyBroken = (text: string): boolean => {
  let broken = 0
  let whole = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 0xfffd) broken++
    else if (code > 127) whole++
  }
  return broken > whole
}

const lossy = (bytes: Uint8Array, encoding: string): Decoded => ({
  text: decoder(encoding, false)?.decode(bytes) ?? "",
  encoding,
  repairs: [`bytes that are no ${encoding} replaced`]
})

const attempt = (bytes: Uint8Array, encoding: string): string | undefined => {
  try {
    return decoder(encoding, true)?.decode(bytes)
  } catch {
    return undefined // these bytes are not in this encoding
  }
}

/** UTF-16 and 32 cannot be declared in letters that were just read as ASCII. */
const WIDE = /^(?:utf-?(?:16|32)|ucs|unicode|iso-10646)/

const canonical = (label: string | undefined): string | undefined => {
  if (label === undefined || WIDE.test(label)) return undefined
  const spellings = [
    label,
    label.replaceAll("_", "-"),
    label.replace(/^(?:cp|win|windows|ansi)[-_]?(?=\d)/, "windows-"),
    label.replace(/^iso[-_]?latin[-_]?/, "latin")
  ]
  return spellings.find((spelling) => decoder(spelling, true) !== undefined && !spelling.startsWith("utf-16")) ===
      undefined
    ? undefined
    : spellings.flatMap((spelling) => decoder(spelling, true)?.encoding ?? [])[0]
}

type Decoder = InstanceType<typeof TextDecoder>

const decoders = new Map<string, Decoder | undefined>()

const decoder = (label: string, fatal: boolean): Decoder | undefined => {
  const key = fatal ? `${label}!` : label
  if (!decoders.has(key) && decoders.size < 500) decoders.set(key, newDecoder(label, fatal))
  return decoders.get(key)
}

const newDecoder = (label: string, fatal: boolean): Decoder | undefined => {
  try {
    return new TextDecoder(label, { fatal })
  } catch {
    return undefined // no such encoding
  }
}
