import { type CheerioAPI, load } from "cheerio"
import { collectMatches, messageOf, SelectionError } from "./CollectMatches.ts"
import { compileCss } from "./CompileCss.ts"
import { decodeDocument } from "./DecodeDocument.ts"
import { hasFewNodes, TreeCache } from "./TreeCache.ts"

export const checkCss = (path: string): void => void compile(path, "html")

/** An element, a text or another node; or the name of an attribute, because attributes take memory, too. */
type TreePart = ReturnType<CheerioAPI["root"]>[number]["children"][number] | string

function* treeParts(part: TreePart): Iterable<TreePart> {
  if (typeof part === "string") return
  if ("attribs" in part) yield* Object.keys(part.attribs)
  if ("children" in part) yield* part.children
}

const isSmallTree = (document: CheerioAPI): boolean => hasFewNodes<TreePart>(document.root().get(), treeParts)

const htmlTrees = new TreeCache((bytes, contentType) => load(decodeDocument(bytes, contentType)), isSmallTree)
const xmlTrees = new TreeCache(
  (bytes, contentType) => load(decodeDocument(bytes, contentType), { xml: true }),
  isSmallTree
)

/** The outer HTML of all matches, in document order. */
export const selectCss = (
  bytes: Uint8Array,
  contentType: string | undefined,
  path: string,
  syntax: "html" | "xml"
): ReadonlyArray<string> => {
  const root = parseTree(bytes, contentType, syntax)
  return collectMatches(compile(path, syntax)(root), (element) => root.html(element))
}

/** The tree of a document, from the cache if it is there. Callers must not change the tree. */
export const parseTree = (bytes: Uint8Array, contentType: string | undefined, syntax: "html" | "xml"): CheerioAPI =>
  (syntax === "xml" ? xmlTrees : htmlTrees).get(bytes, contentType ?? "")

export const compile = (path: string, syntax: "html" | "xml"): ReturnType<typeof compileCss> => {
  const mistake = findMistake(path)
  if (mistake !== undefined) {
    throw new SelectionError("Invalid", `${JSON.stringify(path)} is not a CSS path: ${mistake}`)
  }
  try {
    return compileCss(path, syntax)
  } catch (error) {
    throw new SelectionError("Invalid", `${JSON.stringify(path)} is not a CSS path: ${messageOf(error)}`, {
      cause: error
    })
  }
}

/**
 * Parts of a path that may contain any character: strings, attributes, comments, escapes, `:contains()`; and the numbers of `:nth-child()`.
 *
 * The alternatives begin with different characters, so that matching takes linear time.
 */
const opaqueParts =
  /\\(?:[\da-f]{1,6}\s?|[^])|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|\[(?:[^\]"'\\]|\\[^]|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*')*\]|\/\*[^]*?\*\/|:i?contains\((?:[^()]|\([^()]*\))*\)|\([\s\dn+-]*\)/gi

/** Finds syntax that css-select misreads, or takes for the name of an element that no document has. */
const findMistake = (path: string): string | undefined => {
  const plain = path.replace(opaqueParts, (text) => "\u00b7".repeat(text.length))
  const state = /:(?:hover|active|visited)(?![\w-])/i.exec(plain)?.[0]
  if (state !== undefined) return `${state} is a state of a browser; leave it out`
  const position = /:(?:first|last|eq|nth|gt|lt|even|odd)(?![\w-])/i.exec(plain)?.[0]
  if (position !== undefined) {
    return `${position} belongs to jQuery, not to CSS; :nth-child() and :nth-of-type() count among siblings`
  }
  const dangling = /^[<>+~]|[>+~]$/.exec(plain.trim())?.[0]
  if (dangling !== undefined) return `the ${dangling} needs a selector on both sides`
  const unexpected = /[^\w\s\u0080-\uffff[\].#:>+~<*,()|-]|(?<=^|[\s>+~,(])-?\d/.exec(plain)
  if (unexpected === null) return undefined
  const [character] = unexpected
  const problem = `${character} (character ${unexpected.index + 1}) does not begin the name of an element`
  return character === "/"
    ? `${problem}; XPath and page routes are not supported, but browsers' inspectors can copy CSS paths ("Copy selector")`
    : problem
}
