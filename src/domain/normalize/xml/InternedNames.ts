/** A power of two. */
const SLOTS = 512
const LONGEST = 32
const words: Array<string> = []

/**
 * The word between these positions, as one string for all its uses where it is met often.
 *
 * Attributes are called by few names. That spares cutting them out, and makes comparing them with names in the source a glance:
 * the engine keeps property names as one string each.
 */
export const wordAt = (text: string, start: number, end: number): string => {
  const length = end - start
  if (length === 0 || length > LONGEST) return text.slice(start, end)
  const middle = text.charCodeAt(start + (length >> 1))
  const slot = (text.charCodeAt(start) * 7 + middle * 67 + text.charCodeAt(end - 1) * 31 + length) & (SLOTS - 1)
  const recent = words[slot]
  if (recent !== undefined && recent.length === length && text.startsWith(recent, start)) return recent
  const cut = text.slice(start, end)
  const word = known.get(cut)
  if (word !== undefined) words[slot] = word
  return word ?? (known.size < MOST_KNOWN ? learned(cut) : cut)
}

/** All words that were met, as long as they are few: a document may be made of nothing but new ones. */
const known = new Map<string, string>()
const MOST_KNOWN = 1000

const learned = (cut: string): string => {
  const word = propertyName(cut)
  known.set(word, word)
  return word
}

/** A copy, too: what is cut out of a document keeps all of it in memory. */
const propertyName = (word: string): string => Object.keys({ [word]: true })[0] ?? word
