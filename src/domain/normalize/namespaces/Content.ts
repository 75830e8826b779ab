import type { Text } from "#domain/feed/Entry.ts"
import type { Context, Vocabulary } from "#domain/normalize/ElementContext.ts"
import { plainText } from "#domain/normalize/Texts.ts"
import { type Element, elements } from "#domain/normalize/xml/Element.ts"

/** RSS 1.0 content: the whole entry. It goes before any other content. */
export const content: Vocabulary = {
  encoded: (element, draft, context) => {
    const text = plainText(element, context, "html")
    if (text.value !== "") draft.content = [text, ...draft.content ?? []].slice(0, MOST)
  },
  /** The module's older form: a bag of items, each with its value. */
  items: (element, draft, context) => {
    const texts = valuesIn(element, context)
    if (texts.length > 0) draft.content = [...draft.content ?? [], ...texts].slice(0, MOST)
  }
}

const MOST = 20

const valuesIn = (element: Element, context: Context): ReadonlyArray<Text> =>
  elements(element).slice(0, MOST).flatMap((child) =>
    child.namespace === "rdf" && child.key === "value" ? [plainText(child, context, "html")] : valuesIn(child, context)
  )
