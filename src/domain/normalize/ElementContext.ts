import type { Draft } from "./Draft.ts"
import { exact } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"
import { isBase, resolve } from "./Urls.ts"

/** Reads one element into what stands around it. */
export type Reader = (element: Element, draft: Draft, context: Context) => void

/** The elements of one namespace that are understood, by their lower-case local name. */
export type Vocabulary = { readonly [key: string]: Reader | undefined }

/** What an element inherits from those around it. */
export interface Context {
  /** What relative references are resolved against; empty when nothing is known. */
  readonly base: string
  /** `xml:base` is in force: the base is the publisher's word, not a guess. */
  readonly declared: boolean
  /** `xml:lang`. */
  readonly language: string | undefined
  /** Reads an element by its namespace, in the document's dialect. */
  readonly read: Reader
}

/** The context inside an element: changed by `xml:base` and `xml:lang` alone. */
export const within = (element: Element, context: Context): Context => {
  if (element.attributes.length === 0) return context
  const base = exact(element, "xml:base")
  const language = exact(element, "xml:lang")
  const based = base === undefined ? context : rebased(context, base)
  return language === undefined ? based : { ...based, language: language.trim() }
}

const rebased = (context: Context, reference: string): Context => {
  const base = resolve(context.base, reference)
  return isBase(base) ? { ...context, base, declared: true } : context
}

/** Reads all elements inside another one. */
export const readChildren = (parent: Element, draft: Draft, context: Context): void => {
  for (const child of parent.children) if (typeof child !== "string") context.read(child, draft, context)
}
