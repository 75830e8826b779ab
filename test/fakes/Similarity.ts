/** As pg_trgm has it by default: from here on, a piece of a text is similar. */
const threshold = 0.6

/**
 * Whether a piece of `text` is similar to `wanted`, as `wanted <% text` of pg_trgm says: the share of trigrams that both have
 * in all that they have, for the run of the text's trigrams where it is largest.
 */
export const isSimilar = (wanted: string, text: string): boolean => {
  const mine = new Set(trigrams(wanted))
  const theirs = trigrams(text)
  return theirs.some((_, start) => {
    const piece = new Set<string>()
    let common = 0
    for (const trigram of theirs.slice(start)) {
      if (!piece.has(trigram) && mine.has(trigram)) common++
      piece.add(trigram)
      if (common >= threshold * (mine.size + piece.size - common)) return true
    }
    return false
  })
}

/** Of each word in lower case, with two spaces before it and one behind. */
const trigrams = (text: string): ReadonlyArray<string> =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((word) => {
    const characters = [..."  ", ...word, " "]
    return characters.slice(2).map((_, i) => characters.slice(i, i + 3).join(""))
  })
