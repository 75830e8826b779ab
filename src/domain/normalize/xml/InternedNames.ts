/** A power of two. */
const cacheSlots = 512
const maxInternedLength = 32
const recentNames: Array<string> = []

/**
 * The word between these positions, as one string for all its uses where it is met often.
 *
 * Attributes are called by few names. That spares cutting them out, and makes comparing them with names in the source a glance:
 * the engine keeps property names as one string each.
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

/** All words that were met, as long as they are few: a document may be made of nothing but new ones. */
const internedNames = new Map<string, string>()
const maxInternedNames = 1000

const addName = (cut: string): string => {
  const word = toPropertyName(cut)
  internedNames.set(word, word)
  return word
}

/** A copy, too: what is cut out of a document keeps all of it in memory. */
const toPropertyName = (word: string): string => Object.keys({ [word]: true })[0] ?? word
