const SCHEME = /^[a-zA-Z][a-zA-Z0-9+.-]*:/
const SPACE_INSIDE = /[\t\n\r]+\s*/g

export const isAbsolute = (reference: string): boolean =>
  reference.startsWith("http://") || reference.startsWith("https://") || SCHEME.test(reference)

/** Whether relative references can be resolved against it: `tag:` and `mailto:` cannot be a base. */
export const isBase = (url: string): boolean => /^(?:https?|ftp|file):/i.test(url)

/**
 * A reference as an absolute URL, as far as `base` allows; `base` may be empty.
 *
 * What is absolute already stays as it is written but for white space: links double as ids, and a normalised one would be another.
 */
export const resolve = (base: string, reference: string): string => {
  const plain = unbroken(reference.trim())
  if (base === "" || plain === "" || isAbsolute(plain)) return plain
  const origin = PLAIN_PATH.test(plain) && !plain.includes("/.") ? originOf(base) : "null"
  if (origin !== "null") return origin + plain
  const resolved = URL.parse(plain, base)?.href
  return resolved === undefined ? plain : asWritten(resolved, plain)
}

/** A path from the root that the URL parser would only copy. */
const PLAIN_PATH = /^\/(?!\/)[\w/~.,:;@+$()!*&=?-]*$/

const origins = { base: "", origin: "null" }

/** Of the base that was asked for last, since a feed's references have one. */
const originOf = (base: string): string => {
  if (origins.base !== base) {
    origins.origin = URL.parse(base)?.origin ?? "null"
    origins.base = base
  }
  return origins.origin
}

/** Letters beyond ASCII as the publisher wrote them: an address stays the IRI that it is. */
const asWritten = (resolved: string, reference: string): string =>
  /[^\0-\x7f]/.test(reference)
    ? resolved.replace(/(?:%[89A-Fa-f][0-9A-Fa-f])+/g, (encoded) => decoded(encoded, reference) ?? encoded)
    : resolved

const decoded = (encoded: string, reference: string): string | undefined => {
  try {
    const letters = decodeURIComponent(encoded)
    return reference.includes(letters) ? letters : undefined
  } catch {
    return undefined // no UTF-8: it was encoded before
  }
}

/** Some publishers' templates break URLs over lines. */
const unbroken = (url: string): string =>
  url.includes("\n") || url.includes("\t") || url.includes("\r") ? url.replace(SPACE_INSIDE, "") : url
