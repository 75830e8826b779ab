const schemePattern = /^[a-zA-Z][a-zA-Z0-9+.-]*:/
const lineBreaks = /[\t\n\r]+\s*/g

export const isAbsolute = (reference: string): boolean =>
  reference.startsWith("http://") || reference.startsWith("https://") || schemePattern.test(reference)

/** Whether relative references can be resolved against it: `tag:` and `mailto:` cannot be a base. */
export const isBase = (url: string): boolean => /^(?:https?|ftp|file):/i.test(url)

/**
 * A reference as an absolute URL, as far as `base` allows; `base` may be empty.
 *
 * What is absolute already stays as it is written but for white space: links double as ids, and a normalised one would be another.
 */
export const resolve = (base: string, reference: string): string => {
  const plain = joinLines(reference.trim())
  if (base === "" || plain === "" || isAbsolute(plain)) return plain
  const origin = plainPath.test(plain) && !plain.includes("/.") ? getOrigin(base) : "null"
  if (origin !== "null") return origin + plain
  const resolved = URL.parse(plain, base)?.href
  return resolved === undefined ? plain : restoreLetters(resolved, plain)
}

/** A path from the root that the URL parser would only copy. */
const plainPath = /^\/(?!\/)[\w/~.,:;@+$()!*&=?-]*$/

const lastOrigin = { base: "", origin: "null" }

/** Of the base that was asked for last, since a feed's references have one. */
const getOrigin = (base: string): string => {
  if (lastOrigin.base !== base) {
    lastOrigin.origin = URL.parse(base)?.origin ?? "null"
    lastOrigin.base = base
  }
  return lastOrigin.origin
}

/** Letters beyond ASCII as the publisher wrote them: an address stays the IRI that it is. */
const restoreLetters = (resolved: string, reference: string): string =>
  /[^\0-\x7f]/.test(reference)
    ? resolved.replace(/(?:%[89A-Fa-f][0-9A-Fa-f])+/g, (encoded) => decodeLetters(encoded, reference) ?? encoded)
    : resolved

const decodeLetters = (encoded: string, reference: string): string | undefined => {
  try {
    const letters = decodeURIComponent(encoded)
    return reference.includes(letters) ? letters : undefined
  } catch {
    return undefined // no UTF-8: it was encoded before
  }
}

/** Some publishers' templates break URLs over lines. */
const joinLines = (url: string): string =>
  url.includes("\n") || url.includes("\t") || url.includes("\r") ? url.replace(lineBreaks, "") : url
