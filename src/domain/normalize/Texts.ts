import type { Text } from "#domain/feed/Entry.ts"
import { type ElementContext, enterElement } from "./ElementContext.ts"
import { resolveMarkup } from "./ResolveMarkup.ts"
import { serializeInner } from "./SerializeMarkup.ts"
import {
  type Element,
  getChildElements,
  getText,
  getTrimmedText,
  getValue,
  hasElements
} from "#domain/normalize/xml/Element.ts"

const htmlPattern = /<[a-zA-Z!/?][^<>]*>|&(?:#\d{1,8}|#x[0-9a-f]{1,7}|[a-z][a-z0-9]{1,31});/i

/** Whether a supposed plain text contains a tag or a character reference. */
const looksLikeHtml = (text: string): boolean => htmlPattern.test(text)

/**
 * Reads a text of RSS, Dublin Core and other vocabularies without a type attribute.
 *
 * With `expected` "html", the text is HTML; a title is HTML if it looks like HTML. Unescaped markup stays markup.
 */
export const readText = (element: Element, outer: ElementContext, expected: "text" | "html"): Text => {
  const context = enterElement(element, outer)
  const markup = hasElements(element)
  const raw = (markup ? serializeInner(element, context) : element.text).trim()
  const type = element.namespace === "xhtml"
    ? "xhtml"
    : markup || expected === "html" || looksLikeHtml(raw)
    ? "html"
    : "text"
  return makeText(markup || type === "text" ? raw : resolveMarkup(raw, context.base), type, context)
}

const makeText = (content: string, type: string, context: ElementContext): Text => {
  if (context.language === undefined && !context.declared) return { value: content, type }
  return {
    value: content,
    type,
    ...(context.language === undefined ? {} : { language: context.language }),
    ...(context.declared ? { base: context.base } : {})
  }
}

const textTypes: { readonly [type: string]: string | undefined } = {
  "text": "text",
  "text/plain": "text",
  "plain": "text",
  "html": "html",
  "text/html": "html",
  "xhtml": "xhtml",
  "application/xhtml+xml": "xhtml"
}

/** Reads an Atom text construct or content, of Atom 1.0 (`type`) or 0.3 (`type` and `mode`). */
export const readAtomText = (element: Element, outer: ElementContext): Text => {
  const context = enterElement(element, outer)
  const written = getValue(element, "type") ?? "text"
  const type = textTypes[written] ?? textTypes[written.toLowerCase()] ?? written
  const content = readContent(element, type, getValue(element, "mode")?.toLowerCase(), context)
  const src = getValue(element, "src")
  const text = makeText(
    type === "html" && !hasElements(element) ? resolveMarkup(content, context.base) : content,
    type,
    context
  )
  return src === undefined ? text : { ...text, src }
}

const readContent = (element: Element, type: string, mode: string | undefined, context: ElementContext): string => {
  if (mode === "escaped") return getTrimmedText(element)
  if (mode === "base64" || mode === undefined && isBinary(element, type)) {
    return decodeBase64Text(getTrimmedText(element))
  }
  if (!hasElements(element)) return element.text.trim()
  return serializeInner(type === "xhtml" ? unwrapDiv(element) : element, context).trim()
}

/** Removes the `div` that Atom requires around XHTML. */
const unwrapDiv = (element: Element): Element => {
  const [first, second] = getChildElements(element)
  const alone = first?.key === "div" && second === undefined
  return alone && element.children.every((child) => typeof child !== "string" || child.trim() === "") ? first : element
}

/** Atom 1.0 encodes media types other than text and XML in base64. */
const isBinary = (element: Element, type: string): boolean =>
  type.includes("/") && !hasElements(element) && !/^text\/|[+/]xml$/i.test(type)

/** Decodes base64, or returns the value unchanged if it is not the base64 of a UTF-8 text. */
const decodeBase64Text = (encoded: string): string => {
  const plain = encoded.replace(/\s+/g, "")
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(toBytes(atob(plain)))
  } catch {
    return encoded // invalid base64, or the bytes of an image
  }
}

const toBytes = (binary: string): Uint8Array => {
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/** The trimmed text of an element, or `undefined` when empty. */
export const getNonEmptyText = (element: Element): string | undefined => {
  const text = getText(element).trim()
  return text === "" ? undefined : text
}
