const schemePattern = /^[a-zA-Z][a-zA-Z0-9+.-]*:/
const lineBreaks = /[\t\n\r]+\s*/g

export const isAbsolute = (reference: string): boolean =>
  reference.startsWith("http://") || reference.startsWith("https://") || schemePattern.test(reference)

/** Whether a URL can be a base of relative references. `tag:` and `mailto:` cannot. */
export const isBase = (url: string): boolean => /^(?:https?|ftp|file):/i.test(url)

/**
 * Resolves a reference against `base`, which may be empty.
 *
 * An absolute URL only loses white space, because links also serve as ids and a normalized id is another id.
 */
export const resolve = (base: string, reference: string): string => {
  const plain = joinLines(reference.trim())
  if (base === "" || plain === "" || isAbsolute(plain)) return plain
  const origin = plainPath.test(plain) && !plain.includes("/.") ? getOrigin(base) : "null"
  if (origin !== "null") return origin + plain
  const resolved = URL.parse(plain, base)?.href
  return resolved === undefined ? plain : restoreLetters(resolved, plain)
}

/** A path from the root that the URL parser leaves unchanged. */
const plainPath = /^\/(?!\/)[\w/~.,:;@+$()!*&=?-]*$/

const lastOrigin = { base: "", origin: "null" }

/** The origin of a base. The last result is kept, because the references of a feed share one base. */
const getOrigin = (base: string): string => {
  if (lastOrigin.base !== base) {
    lastOrigin.origin = URL.parse(base)?.origin ?? "null"
    lastOrigin.base = base
  }
  return lastOrigin.origin
}

/** Restores letters beyond ASCII as the publisher wrote them, so that an IRI stays an IRI. */
const restoreLetters = (resolved: string, reference: string): string =>
  /[^\0-\x7f]/.test(reference)
    ? resolved.replace(/(?:%[89A-Fa-f][0-9A-Fa-f])+/g, (encoded) => decodeLetters(encoded, reference) ?? encoded)
    : resolved

const decodeLetters = (encoded: string, reference: string): string | undefined => {
  try {
    const letters = decodeURIComponent(encoded)
    return reference.includes(letters) ? letters : undefined
  } catch {
    return undefined // invalid UTF-8, so the publisher encoded these bytes
  }
}

/** Joins a URL that a publisher's template breaks into lines. */
const joinLines = (url: string): string =>
  url.includes("\n") || url.includes("\t") || url.includes("\r") ? url.replace(lineBreaks, "") : url
