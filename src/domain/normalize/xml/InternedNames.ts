/** A power of two. */
const cacheSlots = 512
const maxInternedLength = 32
const recentNames: Array<string> = []

/**
 * The name between two positions, as one shared string for all its uses.
 *
 * Attributes have few names, so a shared string saves most substrings. V8 keeps each property name as one string, so comparisons with
 * names in the source compare pointers.
 */
export const internName = (text: string, start: number, end: number): string => {
  const length = end - start
  if (length === 0 || length > maxInternedLength) return text.slice(start, end)
  const middle = text.charCodeAt(start + (length >> 1))
  const slot = (text.charCodeAt(start) * 7 + middle * 67 + text.charCodeAt(end - 1) * 31 + length) & (cacheSlots - 1)
  const recent = recentNames[slot]
  if (recent !== undefined && recent.length === length && text.startsWith(recent, start)) return recent
  const cut = text.slice(start, end)
  const word = internedNames.get(cut)
  if (word !== undefined) recentNames[slot] = word
  return word ?? (internedNames.size < maxInternedNames ? addName(cut) : cut)
}

/** At most 1,000 names, because a hostile document can consist of new names. */
const internedNames = new Map<string, string>()
const maxInternedNames = 1000

const addName = (cut: string): string => {
  const word = toPropertyName(cut)
  internedNames.set(word, word)
  return word
}

/** Also a copy, because a substring keeps the whole document in memory. */
const toPropertyName = (word: string): string => Object.keys({ [word]: true })[0] ?? word
