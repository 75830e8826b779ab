/** Short name of a namespace, such as `dc`; see `NamespaceKeys`. An unknown namespace has its URI as key. */
export type NamespaceKey = string

/**
 * An element of a document, as the parser leaves it.
 *
 * Built for speed: most elements hold only text and so have no array. Attributes are a flat list of names and values.
 */
export interface Element {
  /** Local name as written. */
  readonly name: string
  /** Local name in lower case: publishers write `pubdate`, `pubDate` and `PubDate`. */
  readonly key: string
  readonly prefix: string
  readonly namespace: NamespaceKey
  /** Raw name, decoded value, raw name, decoded value … */
  readonly attributes: ReadonlyArray<string>
  /** The whole text, as long as the element has no child. */
  text: string
  /** Elements and texts in document order. Empty when the element holds only text. */
  children: Array<Node>
}

export type Node = Element | string

export const noAttributes: ReadonlyArray<string> = []
/** Shared by all elements without children: compared by identity and never changed. */
export const noChildren: Array<Node> = []

export const appendChild = (parent: Element, child: Element): void => {
  if (parent.children !== noChildren) parent.children.push(child)
  else {
    parent.children = parent.text === "" ? [child] : [parent.text, child]
    parent.text = ""
  }
}

export const appendText = (parent: Element, text: string): void => {
  const { children } = parent
  const last = children.length - 1
  if (children === noChildren) parent.text += text
  else if (typeof children[last] === "string") children[last] += text
  else children.push(text)
}

export const hasElements = (element: Element): boolean => element.children !== noChildren

/** The elements among the children. */
export const getChildElements = ({ children }: Element): ReadonlyArray<Element> =>
  children.filter((child) => typeof child !== "string")

export const findChild = (parent: Element, key: string): Element | undefined => {
  for (const child of parent.children) if (typeof child !== "string" && child.key === key) return child
  return undefined
}

/** All text inside an element, without markup, untrimmed. */
export const getText = (element: Element): string => {
  if (element.children === noChildren) return element.text
  let text = ""
  for (const child of element.children) text += typeof child === "string" ? child : getText(child)
  return text
}

export const getTrimmedText = (element: Element): string => getText(element).trim()

/** The value of an attribute by its exact name. */
export const getExactAttribute = (element: Element, name: string): string | undefined => {
  const { attributes } = element
  for (let at = 0; at < attributes.length; at += 2) if (attributes[at] === name) return attributes[at + 1]
  return undefined
}

/**
 * The value of an attribute, in any case and with any prefix but `xml`.
 *
 * Feeds contain `rdf:resource`, `HREF` and `atom:href`.
 */
export const getAttribute = (element: Element, name: string): string | undefined => {
  const { attributes } = element
  if (attributes.length === 0) return undefined
  const plain = getExactAttribute(element, name)
  if (plain !== undefined) return plain
  for (let at = 0; at < attributes.length; at += 2) {
    const raw = attributes[at] ?? ""
    if (hasSameEnd(raw, name) && getLocalName(raw) === name) return attributes[at + 1]
  }
  return undefined
}

/** Rejects most other names before they are cut and lowered. */
const hasSameEnd = (raw: string, name: string): boolean =>
  raw.length >= name.length && (raw.charCodeAt(raw.length - 1) | 32) === (name.charCodeAt(name.length - 1) | 32)

const getLocalName = (raw: string): string | undefined =>
  raw.startsWith("xml") ? undefined : raw.slice(raw.indexOf(":") + 1).toLowerCase()

/** The trimmed value of an attribute, found as by `getAttribute`. An empty value is absent. */
export const getValue = (element: Element, name: string): string | undefined => {
  const found = getAttribute(element, name)?.trim()
  return found === "" ? undefined : found
}
