import type { CheerioAPI } from "cheerio"
import { compile, type Options, selectAll } from "css-select"
import { SelectionError } from "./Limits.ts"

type Document = ReturnType<CheerioAPI["root"]>[number]
type Node = Document | Document["children"][number]
type Element = Extract<Node, { readonly attribs: unknown }>

/**
 * Milliseconds that a path may take in a document, once its tree is built.
 *
 * A path does not show what it costs: `a ~ b`, `:nth-child()` and `:has()` go over the neighbours of each element again, which is the square of their
 * number, and a longer path goes over that again. To be stopped from outside costs the thread its life, and all that waits for it.
 */
const patience = 2000

/** Nodes and characters that are looked at between two looks at the clock. */
const stride = 20_000

/** Finds what a path matches, in document order. In HTML, names count in any case. It throws when the path is none. */
export const compileCss = (path: string, syntax: "html" | "xml"): (document: CheerioAPI) => ReadonlyArray<Element> => {
  const clock = new Clock()
  const options = { xmlMode: syntax === "xml", adapter: adapterFor(syntax === "xml" ? asWritten : inAnyCase, clock) }
  const query = compile<Node, Element>(path, options)
  return (document) => {
    clock.start()
    return document.root().get().flatMap((root) => selectAll<Node, Element>(query, root, options))
  }
}

const tooSlow = `the path takes more than ${
  patience / 1000
} s in this document; select by a class or an id, or look at fewer siblings`

class Clock {
  #end = 0
  #steps = 0

  start(): void {
    this.#end = performance.now() + patience
  }

  step(many: number): void {
    this.#steps += many
    if (this.#steps < stride) return
    this.#steps = 0
    if (performance.now() > this.#end) throw new SelectionError("TooMuch", tooSlow)
  }
}

/** How names are compared with those of a path. */
interface Names {
  readonly nameOf: (element: Element) => string
  readonly attributeOf: (element: Element, name: string) => string | undefined
}

const asWritten: Names = {
  nameOf: ({ name }) => name,
  attributeOf: ({ attribs }, name) => Object.hasOwn(attribs, name) ? attribs[name] : undefined
}

const html = "http://www.w3.org/1999/xhtml"

/**
 * The library writes the names of a path in lower case, and so does the parser with those of HTML.
 *
 * Those of SVG and MathML keep their capitals (`linearGradient`, `viewBox`).
 */
const inAnyCase: Names = {
  nameOf: ({ name, namespace }) => namespace === html ? name : name.toLowerCase(),
  attributeOf: (element, name) => {
    const value = asWritten.attributeOf(element, name)
    if (value !== undefined || element.namespace === html) return value
    return Object.entries(element.attribs).find(([written]) => written.toLowerCase() === name)?.[1]
  }
}

/** The tree as the library looks at it. It asks for everything here, so that it can be stopped at each step. */
const adapterFor = (
  { attributeOf, nameOf }: Names,
  clock: Clock
): NonNullable<Options<Node, Element>["adapter"]> => {
  const childrenOf = (node: Node): Array<Node> => {
    if (!("children" in node)) return []
    clock.step(1 + node.children.length)
    return node.children
  }
  const attribute = (element: Element, name: string): string | undefined => {
    const value = attributeOf(element, name)
    clock.step(1 + (value?.length ?? 0))
    return value
  }
  /** Looks at nodes and what is in them, in document order, until one is what is looked for. However deep they are: it does not call itself. */
  const found = (isIt: (node: Node) => boolean, among: ReadonlyArray<Node>): Node | undefined => {
    const open: Array<{ readonly nodes: ReadonlyArray<Node>; next: number }> = [{ nodes: among, next: 0 }]
    for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
      const node = inner.nodes[inner.next++]
      if (node === undefined) open.pop()
      else if (isIt(node)) return node
      else if ("children" in node) open.push({ nodes: childrenOf(node), next: 0 })
    }
    return undefined
  }
  const collect = <A>(pick: (node: Node, into: Array<A>) => void, among: ReadonlyArray<Node>): Array<A> => {
    const into: Array<A> = []
    found((node) => {
      pick(node, into)
      return false
    }, among)
    return into
  }
  const one = (isIt: (element: Element) => boolean, among: ReadonlyArray<Node>): Element | null =>
    (found((node) => isElement(node) && isIt(node), among) as Element | undefined) ?? null

  return {
    isTag: isElement,
    getName: (element) => {
      clock.step(1)
      return nameOf(element)
    },
    getAttributeValue: attribute,
    hasAttrib: (element, name) => attribute(element, name) !== undefined,
    getParent: (element) => {
      clock.step(1)
      return element.parent
    },
    getChildren: childrenOf,
    getSiblings: (node) => node.parent === null ? [node] : childrenOf(node.parent),
    getText: (node) =>
      collect<string>((inner, into) => {
        if (inner.type !== "text") return
        clock.step(inner.data.length)
        into.push(inner.data)
      }, [node]).join(""),
    existsOne: (isIt, among) => one(isIt, among) !== null,
    findOne: one,
    findAll: (isIt, among) =>
      collect<Element>((node, into) => {
        if (isElement(node) && isIt(node)) into.push(node)
      }, among),
    // what is searched is the document, which is in nothing else
    removeSubsets: (nodes) => nodes
  }
}

const isElement = (node: Node): node is Element => "attribs" in node
