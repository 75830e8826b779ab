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
  const word = propertyName(text.slice(start, end))
  words[slot] = word
  return word
}

/** A copy, too: what is cut out of a document keeps all of it in memory. */
const propertyName = (word: string): string => Object.keys({ [word]: true })[0] ?? word
