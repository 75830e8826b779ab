import { type ElementContext, enterElement } from "./ElementContext.ts"
import { escapeHtmlAttribute, escapeHtmlText, resolveAttribute, urlAttributes } from "./ResolveMarkup.ts"
import type { Element, Node } from "./xml/Element.ts"

const voidElements = new Set([
  "br",
  "hr",
  "img",
  "input",
  "meta",
  "link",
  "area",
  "base",
  "col",
  "embed",
  "param",
  "source",
  "track",
  "wbr"
])

/** Namespaces whose elements HTML knows without a prefix. */
const unprefixedNamespaces = new Set(["xhtml", "svg", "mathml", "", "rss", "atom"])

/** Serializes the content of an element as HTML, with resolved references. */
export const serializeInner = (element: Element, context: ElementContext): string =>
  serializeNodes(element.children, element.text, context)

const serializeNodes = (children: ReadonlyArray<Node>, text: string, context: ElementContext): string => {
  let markup = escapeHtmlText(text)
  for (const child of children) {
    markup += typeof child === "string"
      ? escapeHtmlText(child)
      : serializeOuter(child, context)
  }
  return markup
}

const serializeOuter = (element: Element, outer: ElementContext): string => {
  const context = enterElement(element, outer)
  const name = element.prefix === "" || unprefixedNamespaces.has(element.namespace)
    ? element.name
    : `${element.prefix}:${element.name}`
  const start = `<${name}${serializeAttributes(element, context)}`
  if (element.text === "" && element.children.length === 0 && voidElements.has(name)) return `${start} />`
  return `${start}>${serializeNodes(element.children, element.text, context)}</${name}>`
}

const serializeAttributes = (element: Element, context: ElementContext): string => {
  let markup = ""
  for (let at = 0; at < element.attributes.length; at += 2) {
    const name = element.attributes[at] ?? ""
    const value = element.attributes[at + 1] ?? ""
    if (
      isDeclaration(name) && unprefixedNamespaces.has(element.namespace) && element.namespace !== "svg" &&
      element.namespace !== "mathml"
    ) continue
    if (name === "xml:base" || !attributeName.test(name)) continue
    markup += ` ${name}="${
      escapeHtmlAttribute(urlAttributes.has(name) ? resolveAttribute(context.base, name, value) : value)
    }"`
  }
  return markup
}

const attributeName = /^[A-Za-z_:][\w:.-]*$/

const isDeclaration = (name: string): boolean => name === "xmlns" || name.startsWith("xmlns:")
