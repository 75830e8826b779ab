import type { CheerioAPI } from "cheerio"
import { compile, type Options, selectAll } from "css-select"
import { SelectionError } from "./CollectMatches.ts"

type MarkupDocument = ReturnType<CheerioAPI["root"]>[number]
type MarkupNode = MarkupDocument | MarkupDocument["children"][number]
type MarkupElement = Extract<MarkupNode, { readonly attribs: unknown }>

/**
 * Time for one path in one document, without the time to build its tree.
 *
 * The cost of a path is not visible: `a ~ b`, `:nth-child()` and `:has()` visit all siblings of each element, so their time is quadratic,
 * and longer paths multiply it. A stop from outside would end the thread and fail the requests that wait for it.
 */
const maxMatchingMs = 2000

/** Visited nodes and characters between two readings of the stopwatch. */
const stepsPerReading = 20_000

/** Compiles a path to a function that finds its matches in document order. HTML names are case-insensitive. Throws for an invalid path. */
export const compileCss = (
  path: string,
  syntax: "html" | "xml"
): (document: CheerioAPI) => ReadonlyArray<MarkupElement> => {
  const stopwatch = new Stopwatch()
  const options = {
    xmlMode: syntax === "xml",
    adapter: adapterFor(syntax === "xml" ? asWritten : inAnyCase, stopwatch)
  }
  const query = compile<MarkupNode, MarkupElement>(path, options)
  return (document) => {
    stopwatch.start()
    return document.root().get().flatMap((root) => selectAll<MarkupNode, MarkupElement>(query, root, options))
  }
}

const tooSlowText = `the path takes more than ${
  maxMatchingMs / 1000
} s in this document; select by a class or an id, or look at fewer siblings`

/** Ends a search that takes too long. */
class Stopwatch {
  #end = 0
  #steps = 0

  start(): void {
    this.#end = performance.now() + maxMatchingMs
  }

  step(count: number): void {
    this.#steps += count
    if (this.#steps < stepsPerReading) return
    this.#steps = 0
    if (performance.now() > this.#end) throw new SelectionError("Killed", tooSlowText)
  }
}

/** Names of a document as a path sees them. */
interface Names {
  readonly nameOf: (element: MarkupElement) => string
  readonly attributeOf: (element: MarkupElement, name: string) => string | undefined
}

const asWritten: Names = {
  nameOf: ({ name }) => name,
  attributeOf: ({ attribs }, name) => Object.hasOwn(attribs, name) ? attribs[name] : undefined
}

const htmlNamespace = "http://www.w3.org/1999/xhtml"

/**
 * css-select lowercases the names of a path, and the parser lowercases HTML names.
 *
 * Names of SVG and MathML keep their capitals (`linearGradient`, `viewBox`), so they are lowercased here.
 */
const inAnyCase: Names = {
  nameOf: ({ name, namespace }) => namespace === htmlNamespace ? name : name.toLowerCase(),
  attributeOf: (element, name) => {
    const value = asWritten.attributeOf(element, name)
    if (value !== undefined || element.namespace === htmlNamespace) return value
    return Object.entries(element.attribs).find(([written]) => written.toLowerCase() === name)?.[1]
  }
}

/** css-select reads the tree through this adapter only, so that the stopwatch can end a search at each step. */
const adapterFor = (
  { attributeOf, nameOf }: Names,
  stopwatch: Stopwatch
): NonNullable<Options<MarkupNode, MarkupElement>["adapter"]> => {
  const childrenOf = (node: MarkupNode): Array<MarkupNode> => {
    if (!("children" in node)) return []
    stopwatch.step(1 + node.children.length)
    return node.children
  }
  const attribute = (element: MarkupElement, name: string): string | undefined => {
    const value = attributeOf(element, name)
    stopwatch.step(1 + (value?.length ?? 0))
    return value
  }
  /** Finds a node among nodes and their descendants, in document order. Iterative, because trees may be deeper than the stack. */
  const findNode = (
    isMatch: (node: MarkupNode) => boolean,
    among: ReadonlyArray<MarkupNode>
  ): MarkupNode | undefined => {
    const open: Array<{ readonly nodes: ReadonlyArray<MarkupNode>; next: number }> = [{ nodes: among, next: 0 }]
    for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
      const node = inner.nodes[inner.next++]
      if (node === undefined) open.pop()
      else if (isMatch(node)) return node
      else if ("children" in node) open.push({ nodes: childrenOf(node), next: 0 })
    }
    return undefined
  }
  const collect = <A>(pick: (node: MarkupNode, into: Array<A>) => void, among: ReadonlyArray<MarkupNode>): Array<A> => {
    const into: Array<A> = []
    findNode((node) => {
      pick(node, into)
      return false
    }, among)
    return into
  }
  const findElement = (
    isMatch: (element: MarkupElement) => boolean,
    among: ReadonlyArray<MarkupNode>
  ): MarkupElement | null =>
    (findNode((node) => isElement(node) && isMatch(node), among) as MarkupElement | undefined) ?? null

  return {
    isTag: isElement,
    getName: (element) => {
      stopwatch.step(1)
      return nameOf(element)
    },
    getAttributeValue: attribute,
    hasAttrib: (element, name) => attribute(element, name) !== undefined,
    getParent: (element) => {
      stopwatch.step(1)
      return element.parent
    },
    getChildren: childrenOf,
    getSiblings: (node) => node.parent === null ? [node] : childrenOf(node.parent),
    getText: (node) =>
      collect<string>((inner, into) => {
        if (inner.type !== "text") return
        stopwatch.step(inner.data.length)
        into.push(inner.data)
      }, [node]).join(""),
    existsOne: (isMatch, among) => findElement(isMatch, among) !== null,
    findOne: findElement,
    findAll: (isMatch, among) =>
      collect<MarkupElement>((node, into) => {
        if (isElement(node) && isMatch(node)) into.push(node)
      }, among),
    // A search always starts at the document alone.
    removeSubsets: (nodes) => nodes
  }
}

const isElement = (node: MarkupNode): node is MarkupElement => "attribs" in node
