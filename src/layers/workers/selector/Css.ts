import { type CheerioAPI, load } from "cheerio"
import { decodeAs } from "#domain/normalize/bytes/DetectEncoding.ts"
import { collectMatches, messageOf, SelectionError } from "./Limits.ts"
import { compileCss } from "./Matching.ts"
import { textOf } from "./Text.ts"
import { hasFewNodes, TreeCache } from "./Trees.ts"

export const checkCss = (path: string): void => void compiled(path, "html")

/** An element, a text …; or the name of an attribute, which takes memory, too. */
type Part = ReturnType<CheerioAPI["root"]>[number]["children"][number] | string

function* within(part: Part): Iterable<Part> {
  if (typeof part === "string") return
  if ("attribs" in part) yield* Object.keys(part.attribs)
  if ("children" in part) yield* part.children
}

const isSmall = (document: CheerioAPI): boolean => hasFewNodes<Part>(document.root().get(), within)

const pages = new TreeCache((bytes, contentType) => load(pageOf(bytes, contentType)), isSmall)
const documents = new TreeCache((bytes, contentType) => load(pageOf(bytes, contentType), { xml: true }), isSmall)

/** The outer HTML of all matches, in document order. */
export const selectCss = (
  bytes: Uint8Array,
  contentType: string | undefined,
  path: string,
  syntax: "html" | "xml"
): ReadonlyArray<string> => {
  const root = (syntax === "xml" ? documents : pages).get(bytes, contentType ?? "")
  return collectMatches(compiled(path, syntax)(root), (element) => root.html(element))
}

const compiled = (path: string, syntax: "html" | "xml"): ReturnType<typeof compileCss> => {
  const mistake = mistakeIn(path)
  if (mistake !== undefined) throw new SelectionError("Invalid", `${JSON.stringify(path)} is no CSS path: ${mistake}`)
  try {
    return compileCss(path, syntax)
  } catch (error) {
    throw new SelectionError("Invalid", `${JSON.stringify(path)} is no CSS path: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * Where any character may stand: strings, attributes, comments, escapes, the text of `:contains()`; and the numbers of `:nth-child()`.
 *
 * Each alternative begins with another character than the other ones, so that an attempt is linear.
 */
const opaque =
  /\\(?:[\da-f]{1,6}\s?|[^])|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|\[(?:[^\]"'\\]|\\[^]|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')*\]|\/\*[^]*?\*\/|:i?contains\((?:[^()]|\([^()]*\))*\)|\([\s\dn+-]*\)/gi

/** What the library takes for something else, or for a name that no element has. */
const mistakeIn = (path: string): string | undefined => {
  const plain = path.replace(opaque, (text) => "\u00b7".repeat(text.length))
  const state = /:(?:hover|active|visited)(?![\w-])/i.exec(plain)?.[0]
  if (state !== undefined) return `${state} is a state of a browser, and there is none here; leave it out`
  const position = /:(?:first|last|eq|nth|gt|lt|even|odd)(?![\w-])/i.exec(plain)?.[0]
  if (position !== undefined) {
    return `${position} is jQuery's and not of CSS; :nth-child() and :nth-of-type() count among siblings`
  }
  const stray = /^[<>+~]|[>+~]$/.exec(plain.trim())?.[0]
  if (stray !== undefined) return `there is nothing to find with this ${stray}`
  const strange = /[^\w\s\u0080-\uffff[\].#:>+~<*,()|-]|(?<=^|[\s>+~,(])-?\d/.exec(plain)
  if (strange === null) return undefined
  const [character] = strange
  const where = `${character}, its character ${strange.index + 1}, begins no name of an element`
  return character === "/"
    ? `${where}; of an XPath, or of a route in the page, nothing is known here: browsers' inspectors copy CSS paths, too ("Copy selector")`
    : where
}

const declared = /<meta\b[^>]{0,200}?charset\s*=\s*["']?\s*([\w-]{1,40})/i

/** The charset of a `meta` element counts where the header has none. */
const pageOf = (bytes: Uint8Array, contentType: string): string => {
  const charset = /charset/i.test(contentType)
    ? undefined
    : declared.exec(decodeAs(bytes.subarray(0, 1024), "latin1"))?.[1]
  return textOf(bytes, charset === undefined ? contentType : `text/html; charset=${charset}`)
}
