/** The selection in a topic's fragment: elements by a CSS path, or values by a JSONPath. */
export interface Fragment {
  readonly language: "css" | "jsonpath"
  /** Decoded. */
  readonly path: string
}

/**
 * The selection of a canonical topic with a fragment.
 *
 * A JSONPath begins with `$`, a CSS path never does.
 */
export const fragmentOf = (url: string): Fragment | undefined => {
  const at = url.indexOf("#")
  const path = at < 0 ? "" : decodeLeniently(url.slice(at + 1)).trim()
  return path === "" ? undefined : { language: path.startsWith("$") ? "jsonpath" : "css", path }
}

/** The URL to fetch: a fragment never leaves the client. */
export const withoutFragment = (url: string): string => {
  const at = url.indexOf("#")
  return at < 0 ? url : url.slice(0, at)
}

/** Decodes percent encoding, and keeps a `%` without an encoding. */
const decodeLeniently = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
      try {
        return decodeURIComponent(encoded)
      } catch {
        return encoded // bytes that are no UTF-8
      }
    })
  }
}

/** Names without quotes (RFC 9535, member-name-shorthand). */
const shorthandName = /^[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*$/
const bareName = /[^.[\]()*'"\s,=<>!&|?~^`]+/y
/** Names that no number or filter operator looks like. */
const unambiguousName = /^[@$#]./

/**
 * Quotes bare names, which people write although RFC 9535 forbids such names: `$..@graph` is `$..["@graph"]`.
 *
 * Within brackets, only names with a leading `@`, `$` or `#` are quoted, because `.5` may be a number.
 */
export const withQuotedNames = (path: string): string => {
  let quoted = ""
  let depth = 0
  for (let at = 0; at < path.length;) {
    const character = path.charAt(at)
    if (character === "\"" || character === "'") {
      const end = endOfString(path, at)
      quoted += path.slice(at, end)
      at = end
      continue
    }
    if (character === "[") depth++
    if (character === "]") depth--
    const dots = character !== "." ? 0 : path.charAt(at + 1) === "." ? 2 : 1
    bareName.lastIndex = at + dots
    const name = dots === 0 ? "" : bareName.exec(path)?.[0] ?? ""
    if (name !== "" && !shorthandName.test(name) && (depth === 0 || unambiguousName.test(name))) {
      quoted += `${dots === 2 ? ".." : ""}[${JSON.stringify(name)}]`
      at += dots + name.length
    } else {
      quoted += dots === 2 ? ".." : character
      at += Math.max(dots, 1)
    }
  }
  return quoted
}

const endOfString = (path: string, start: number): number => {
  const quote = path.charAt(start)
  for (let at = start + 1; at < path.length; at++) {
    if (path.charAt(at) === "\\") at++
    else if (path.charAt(at) === quote) return at + 1
  }
  return path.length
}
