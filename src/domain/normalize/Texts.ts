import type { Text } from "#domain/feed/Entry.ts"
import type { Context } from "./ElementContext.ts"
import { within } from "./ElementContext.ts"
import { inner, resolveMarkup } from "./Markup.ts"
import { elements, hasElements, textOf, trimmed, value } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"

const HTML = /<[a-zA-Z!/?][^<>]*>|&(?:#\d{1,8}|#x[0-9a-f]{1,7}|[a-z][a-z0-9]{1,31});/i

/** Whether a value that should be plain text is HTML after all: it has a tag or a character reference. */
const looksLikeHtml = (text: string): boolean => HTML.test(text)

/**
 * A text of RSS, Dublin Core and the like, which do not say how to read it.
 *
 * Where markup is expected (`html`) it is HTML; a title is HTML when it looks so. Markup that somebody forgot to escape is kept as markup.
 */
export const plainText = (element: Element, around: Context, expected: "text" | "html"): Text => {
  const context = within(element, around)
  const markup = hasElements(element)
  const raw = (markup ? inner(element, context) : element.text).trim()
  const type = element.namespace === "xhtml"
    ? "xhtml"
    : markup || expected === "html" || looksLikeHtml(raw)
    ? "html"
    : "text"
  return construct(markup || type === "text" ? raw : resolveMarkup(raw, context.base), type, context)
}

const construct = (content: string, type: string, context: Context): Text => {
  if (context.language === undefined && !context.declared) return { value: content, type }
  return {
    value: content,
    type,
    ...(context.language === undefined ? {} : { language: context.language }),
    ...(context.declared ? { base: context.base } : {})
  }
}

const TYPES: { readonly [type: string]: string | undefined } = {
  "text": "text",
  "text/plain": "text",
  "plain": "text",
  "html": "html",
  "text/html": "html",
  "xhtml": "xhtml",
  "application/xhtml+xml": "xhtml"
}

/** An Atom text construct or content, of Atom 1.0 (`type`) or 0.3 (`type` and `mode`). */
export const atomText = (element: Element, around: Context): Text => {
  const context = within(element, around)
  const written = value(element, "type") ?? "text"
  const type = TYPES[written] ?? TYPES[written.toLowerCase()] ?? written
  const content = contentOf(element, type, value(element, "mode")?.toLowerCase(), context)
  const src = value(element, "src")
  const text = construct(
    type === "html" && !hasElements(element) ? resolveMarkup(content, context.base) : content,
    type,
    context
  )
  return src === undefined ? text : { ...text, src }
}

const contentOf = (element: Element, type: string, mode: string | undefined, context: Context): string => {
  if (mode === "escaped") return trimmed(element)
  if (mode === "base64" || mode === undefined && isBinary(element, type)) return fromBase64(trimmed(element))
  if (!hasElements(element)) return element.text.trim()
  return inner(type === "xhtml" ? wrapped(element) : element, context).trim()
}

/** Atom wants one `div` around XHTML that is not part of it. */
const wrapped = (element: Element): Element => {
  const [first, second] = elements(element)
  const alone = first?.key === "div" && second === undefined
  return alone && element.children.every((child) => typeof child !== "string" || child.trim() === "") ? first : element
}

/** Media types other than text and XML are base64 in Atom 1.0. */
const isBinary = (element: Element, type: string): boolean =>
  type.includes("/") && !hasElements(element) && !/^text\/|[+/]xml$/i.test(type)

/** Stays as it is when it is not base64, or not of a text. */
const fromBase64 = (encoded: string): string => {
  const plain = encoded.replace(/\s+/g, "")
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(atob(plain)))
  } catch {
    return encoded // no base64, or the bytes of an image
  }
}

const bytesOf = (binary: string): Uint8Array => {
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

/** An element's text where only words are wanted. */
export const words = (element: Element): string | undefined => {
  const text = textOf(element).trim()
  return text === "" ? undefined : text
}
