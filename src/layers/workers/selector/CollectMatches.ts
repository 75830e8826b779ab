/** A selection fails. The thread serializes the reason for `SelectorError`. */
export class SelectionError extends Error {
  readonly _tag = "SelectionError"
  readonly reason: "Invalid" | "Unfit" | "TooMuch" | "Killed"

  constructor(reason: "Invalid" | "Unfit" | "TooMuch" | "Killed", message: string, options?: ErrorOptions) {
    super(message, options)
    this.reason = reason
  }
}

/** UTF-16 units of all matches together. */
const maxMatchedLength = 4 * 1024 * 1024

const maxMatches = 10_000

/** Serializes matches, up to a maximum number and a maximum length. */
export const collectMatches = <A>(matches: Iterable<A>, serialize: (match: A) => string): ReadonlyArray<string> => {
  const texts: Array<string> = []
  let length = 0
  for (const match of matches) {
    if (texts.length === maxMatches) {
      throw new SelectionError(
        "TooMuch",
        `the path matches more than ${maxMatches} times; select a common parent instead`
      )
    }
    const text = serialize(match)
    length += text.length
    if (length > maxMatchedLength) {
      throw new SelectionError("TooMuch", `the matches have more than ${maxMatchedLength} characters; select less`)
    }
    texts.push(text)
  }
  return texts
}

/** The message of an error that a library has thrown. */
export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)
