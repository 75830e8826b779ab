import type { Draft } from "./Draft.ts"
import { getExactAttribute } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"
import { isBase, resolve } from "./Urls.ts"

/** Reads one element into what stands around it. */
export type ElementReader = (element: Element, draft: Draft, context: ElementContext) => void

/** The elements of one namespace that are understood, by their lower-case local name. */
export type Vocabulary = { readonly [key: string]: ElementReader | undefined }

/** What an element inherits from those around it. */
export interface ElementContext {
  /** What relative references are resolved against; empty when nothing is known. */
  readonly base: string
  /** `xml:base` is in force: the base is the publisher's word, not a guess. */
  readonly declared: boolean
  /** `xml:lang`. */
  readonly language: string | undefined
  /** Reads an element by its namespace, in the document's dialect. */
  readonly read: ElementReader
}

/** The context inside an element: changed by `xml:base` and `xml:lang` alone. */
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

/** Reads all elements inside another one. */
export const readChildren = (parent: Element, draft: Draft, context: ElementContext): void => {
  for (const child of parent.children) if (typeof child !== "string") context.read(child, draft, context)
}
