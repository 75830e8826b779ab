import type { Draft } from "./Draft.ts"
import { isBase, resolve } from "./Urls.ts"
import { type Element, getExactAttribute } from "./xml/Element.ts"

/** Reads one element into the draft of the feed, entry, source or object around the element. */
export type ElementReader = (element: Element, draft: Draft, context: ElementContext) => void

/** Readers of the known elements of one namespace, by local name in lower case. */
export type Vocabulary = { readonly [key: string]: ElementReader | undefined }

/** The properties that an element inherits from its ancestors. */
export interface ElementContext {
  /** The base of relative references. Empty when unknown. */
  readonly base: string
  /** The base comes from `xml:base`, so it is the publisher's word and not a guess. */
  readonly declared: boolean
  /** `xml:lang`. */
  readonly language: string | undefined
  /** Reads an element by its namespace, in the document's dialect. */
  readonly read: ElementReader
}

/** The context inside an element. Only `xml:base` and `xml:lang` change a context. */
export const enterElement = (element: Element, context: ElementContext): ElementContext => {
  if (element.attributes.length === 0) return context
  const base = getExactAttribute(element, "xml:base")
  const language = getExactAttribute(element, "xml:lang")
  const based = base === undefined ? context : changeBase(context, base)
  return language === undefined ? based : { ...based, language: language.trim() }
}

const changeBase = (context: ElementContext, reference: string): ElementContext => {
  const base = resolve(context.base, reference)
  return isBase(base) ? { ...context, base, declared: true } : context
}

/** Resolves a reference that stands in this element. */
export const resolveIn = (element: Element, context: ElementContext, reference: string): string =>
  resolve(enterElement(element, context).base, reference)

/** Reads all elements inside another element. */
export const readChildren = (parent: Element, draft: Draft, context: ElementContext): void => {
  for (const child of parent.children) if (typeof child !== "string") context.read(child, draft, context)
}
