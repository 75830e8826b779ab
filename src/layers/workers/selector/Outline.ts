import type { CheerioAPI } from "cheerio"
import type { Fragment } from "#domain/poll/Fragment.ts"
import { maxOutlineLines, type Outline, type OutlineLine, type Syntax } from "#domain/ports/Selector.ts"
import { SelectionError } from "./CollectMatches.ts"
import { compile, parseTree } from "./Css.ts"
import { locateJson, parseJsonTree } from "./JsonPath.ts"

/** Characters of a text, a label and a path. */
const maxTextLength = 160
const maxLabelLength = 80
const maxPathLength = 400

/** Nodes that an outline visits, at most. */
const maxVisited = 200_000

/** Items of an array that an outline lists, besides selected ones. */
const maxItems = 5

/** Depth to which an outline descends. */
const maxDepth = 200

/** Selected places that an outline marks, at most. */
const maxMarked = 10_000

interface OutlinedDocument {
  readonly syntax: Syntax
  readonly bytes: Uint8Array
  readonly contentType: string | undefined
}

/** Lists the places of a document that hold text, and marks the selected ones. */
export const outline = (document: OutlinedDocument, fragment: Fragment | undefined): Outline => {
  if (document.syntax === "json") {
    if (fragment?.language === "css") throw unfit("the document is JSON, and a CSS path selects in HTML")
    return outlineJson(document, fragment?.path)
  }
  if (fragment?.language === "jsonpath") throw unfit("the document is not JSON, and a JSONPath selects in JSON")
  return outlineMarkup(document, document.syntax, fragment?.path)
}

const unfit = (message: string) => new SelectionError("Unfit", message)

type MarkupNode = ReturnType<CheerioAPI["root"]>[number]["children"][number]
type MarkupElement = Extract<MarkupNode, { readonly attribs: unknown }>

/** Elements without text that people read. */
const silentElements = new Set(["head", "script", "style", "template", "noscript", "svg"])

/** An element that waits for its visit. */
interface Visit {
  readonly node: MarkupNode
  readonly depth: number
  /** Path of the parent. */
  readonly parent: string
}

const outlineMarkup = (
  { bytes, contentType }: OutlinedDocument,
  syntax: "html" | "xml",
  path: string | undefined
): Outline => {
  const tree = parseTree(bytes, contentType, syntax)
  const selected = new Set<MarkupNode>(path === undefined ? [] : compile(path, syntax)(tree).slice(0, maxMarked))
  const lines: Array<OutlineLine> = []
  const open: Array<Visit> = childVisits(tree.root().get(), 0, "")
  let visited = 0
  let isCut = false
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { depth, node, parent } = visit
    if (++visited > maxVisited) {
      isCut = true
      break
    }
    if (!("attribs" in node) || silentElements.has(node.name) || depth > maxDepth) continue
    const isSelected = selected.has(node)
    const text = ownText(node)
    const own = pathOf(node, parent)
    if (isSelected || text !== "") {
      if (lines.length >= maxOutlineLines) {
        isCut = true
        break
      }
      lines.push({ depth, label: labelOf(node), text, path: own, isSelected })
    }
    open.push(...childVisits([node], depth + 1, own))
  }
  return { lines, isCut }
}

/** The children, last one first, so that the next visit is the first child. */
const childVisits = (
  parents: ReadonlyArray<{ readonly children: ReadonlyArray<MarkupNode> }>,
  depth: number,
  parent: string
): Array<Visit> =>
  parents.flatMap(({ children }) => children).slice(0, maxVisited).toReversed().map((node) => ({ node, depth, parent }))

/** The text of an element without the text of its children. */
const ownText = ({ children }: MarkupElement): string => {
  let text = ""
  for (const child of children) {
    if (child.type !== "text") continue
    text = `${text} ${child.data}`.replace(/\s+/g, " ").trimStart()
    if (text.length > maxTextLength) break
  }
  return shorten(text.trim(), maxTextLength)
}

const shorten = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength - 1).toWellFormed()}…` : text

const simpleName = /^[A-Za-z_][\w-]*$/

const labelOf = ({ attribs, name }: MarkupElement): string => {
  const id = attribs["id"] ?? ""
  const classes = (attribs["class"] ?? "").split(/\s+/).filter((one) => one !== "")
  return shorten(`${name}${id === "" ? "" : `#${id}`}${classes.map((one) => `.${one}`).join("")}`, maxLabelLength)
}

/** The path of an element: its id, or its place below its parent. Empty for a place that is too deep for a path. */
const pathOf = (element: MarkupElement, parent: string): string => {
  const id = element.attribs["id"] ?? ""
  if (simpleName.test(id)) return `#${id}`
  if (!simpleName.test(element.name)) return ""
  const step = `${element.name}${placeOf(element)}`
  const path = parent === "" ? step : `${parent} > ${step}`
  return path.length > maxPathLength ? "" : path
}

/** The place among the siblings of the same name, where there are several. */
const placeOf = ({ name, next, prev }: MarkupElement): string => {
  let place = 1
  for (let before = prev, i = 0; before !== null && i < 1_000; before = before.prev, i++) {
    if ("attribs" in before && before.name === name) place++
  }
  if (place > 1) return `:nth-of-type(${place})`
  for (let after = next, i = 0; after !== null && i < 1_000; after = after.next, i++) {
    if ("attribs" in after && after.name === name) return ":nth-of-type(1)"
  }
  return ""
}

interface JsonVisit {
  readonly value: unknown
  readonly name: string
  readonly location: ReadonlyArray<string | number>
}

const outlineJson = ({ bytes, contentType }: OutlinedDocument, path: string | undefined): Outline => {
  const json = parseJsonTree(bytes, contentType)
  const selected = new Set<string>()
  if (path !== undefined) {
    for (const location of locateJson(json, path)) {
      if (selected.size >= maxMarked) break
      selected.add(keyOf(location))
    }
  }
  const lines: Array<OutlineLine> = []
  const open: Array<JsonVisit> = [{ value: json, name: "$", location: [] }]
  for (let visit = open.pop(); visit !== undefined; visit = open.pop()) {
    const { location, name, value } = visit
    if (lines.length >= maxOutlineLines) return { lines, isCut: true }
    lines.push({
      depth: location.length,
      label: shorten(name, maxLabelLength),
      text: describeJson(value),
      path: formatJsonPath(location),
      isSelected: selected.has(keyOf(location))
    })
    if (location.length < maxDepth) open.push(...jsonChildren(value, location, selected).toReversed())
  }
  return { lines, isCut: false }
}

/** Indexes of one array that jsonpath-plus gives are texts. */
const keyOf = (location: ReadonlyArray<string | number>): string => JSON.stringify(location.map(String))

const describeJson = (value: unknown): string => {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? "item" : "items"}`
  if (typeof value === "object" && value !== null) return ""
  return shorten(typeof value === "string" ? value : JSON.stringify(value), maxTextLength)
}

const jsonChildren = (
  value: unknown,
  location: ReadonlyArray<string | number>,
  selected: ReadonlySet<string>
): ReadonlyArray<JsonVisit> => {
  if (Array.isArray(value)) {
    return value.slice(0, maxOutlineLines).flatMap((item: unknown, i) =>
      i < maxItems || selected.has(keyOf([...location, i]))
        ? [{ value: item, name: `[${i}]`, location: [...location, i] }]
        : []
    )
  }
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).slice(0, maxOutlineLines).map(([name, item]) => ({
    value: item,
    name,
    location: [...location, name]
  }))
}

const formatJsonPath = (location: ReadonlyArray<string | number>): string => {
  const path = `$${
    location.map((step) =>
      typeof step === "number" ? `[${step}]` : /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${JSON.stringify(step)}]`
    ).join("")
  }`
  return path.length > maxPathLength ? "" : path
}
