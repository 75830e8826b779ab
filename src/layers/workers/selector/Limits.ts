/** Why nothing can be selected: the class of `SelectorError`, as it crosses the boundary of the thread. */
export class SelectionError extends Error {
  readonly reason: "Invalid" | "Unfit" | "TooMuch"

  constructor(reason: "Invalid" | "Unfit" | "TooMuch", message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/**
 * Bytes of a document in which something is selected, at most.
 *
 * Its tree takes ten times as much as a rule, and 240 times for `<p><p>…`: what then needs more memory than the thread has costs it its life.
 */
export const maxDocumentBytes = 8 * 1024 * 1024

/** UTF-16 units of all matches together, at most. */
const maxMatchedLength = 4 * 1024 * 1024

const maxMatches = 10_000

/** Levels of objects and arrays that a JSONPath descends into, at most. */
export const maxDepth = 500

/** Puts matches together as long as they are not too many and not too long. */
export const collectMatches = <A>(matches: Iterable<A>, write: (match: A) => string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let length = 0
  for (const match of matches) {
    if (parts.length === maxMatches) {
      throw new SelectionError("TooMuch", `it matches more than ${maxMatches} times; select something around them`)
    }
    const part = write(match)
    length += part.length
    if (length > maxMatchedLength) {
      throw new SelectionError("TooMuch", `what it matches has more than ${maxMatchedLength} characters; select less`)
    }
    parts.push(part)
  }
  return parts
}

/** What a library threw, as a sentence. */
export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)
