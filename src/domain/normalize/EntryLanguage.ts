import type { Entry, Text } from "#domain/feed/Entry.ts"
import { decodeReferences } from "#domain/normalize/xml/CharacterReferences.ts"

/**
 * Bytes of letters in UTF-8 that make a language sure: 100 letters of Latin, 50 of Cyrillic, 34 of Chinese.
 *
 * Shorter texts give wrong answers too often (docs/decisions/0031-languages-of-entries.md).
 */
const minSampleBytes = 100

/** Longer texts cost time and change no answer. */
const maxSampleLength = 200

/** Characters of markup to look at for a sample. */
const maxMarkupLength = 6000

/** The letters of an entry without a language; `undefined` for an entry with a language, or with too few letters to be sure. */
export const sampleForLanguage = (entry: Entry): string | undefined => {
  if (entry.language !== undefined) return undefined
  const title = lettersOf(entry.title)
  const text = lettersOf(entry.content?.[0]) || lettersOf(entry.summary)
  // A title without its text, as in most feeds of links, is seldom long enough.
  const sample = `${title} ${text}`.trim().slice(0, maxSampleLength)
  return utf8Encoder.encode(sample).length < minSampleBytes ? undefined : sample
}

const utf8Encoder = new TextEncoder()

const lettersOf = (text: Text | undefined): string => {
  if (text === undefined || text.type.includes("/") && !text.type.startsWith("text/")) return ""
  const raw = text.value.slice(0, maxMarkupLength)
  const plain = text.type === "text" ? raw : decodeReferences(raw.replace(markup, " "))
  return plain.replace(addresses, " ").replace(otherCharacters, " ").trim()
}

/** Tags, comments, and scripts and styles with their content. An unclosed one ends with the text. */
const markup = /<(script|style)\b[^]*?(?:<\/\1\s*>|$)|<!--[^]*?(?:-->|$)|<[^>]*(?:>|$)/gi

/** URLs, e-mail addresses, and names in social networks. An address starts at a word, because a try at each letter of a long word takes seconds. */
const addresses = /https?:\/\/\S+|(?<![\w.-])[\w.-]{1,64}@[\w.-]{1,255}|[@#][\w-]+/g

const otherCharacters = /[^\p{L}\p{M}'’]+/gu
