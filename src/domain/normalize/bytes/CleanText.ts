import { WINDOWS_1252 } from "#domain/normalize/xml/CharacterReferences.ts"
import { alignWords } from "./ByteSearch.ts"

/** Removes control characters, and reads U+0080 to U+009F as windows-1252. */
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
/** Controls without use in Unicode. Software that took windows-1252 for Latin-1 left these characters. */
const c1Controls = /[\x80-\x9f]/g

/**
 * Whether UTF-8 bytes certainly need no cleaning. False means that `cleanText` must decide.
 *
 * Checks sixteen bytes at a time, several times faster than a search of the text. Only four bytes with a control or a character beyond
 * ASCII are checked one by one.
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

/** Sets the highest bit of each byte that is below 32 or above 127. Line ends are below 32, too. */
const markOddBytes = (word: number): number => word - 0x20202020 | word

const CLEAN = 0
const FORBIDDEN_BYTE = 1
/** First byte of U+0080 to U+00BF. */
const LEADS_TO_CONTROL = 2
/** First byte of U+F000 to U+FFFF. */
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

/** Whether the bytes are U+0080 to U+009F, U+FFFE or U+FFFF. */
const isUncleanSequence = (kind: number, second: number, third: number): boolean =>
  kind === LEADS_TO_CONTROL ? second < 0xa0 : second === 0xbf && third >= 0xbe
