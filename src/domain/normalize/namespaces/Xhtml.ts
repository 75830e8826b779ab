import type { ElementReader, Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readText } from "#domain/normalize/Texts.ts"

/** A body of XHTML beside the description. */
export const xhtml: Vocabulary = {
  body: addXhtml,
  div: addXhtml
}

function addXhtml(...[element, draft, context]: Parameters<ElementReader>): void {
  const text = readText(element, context, "html")
  if (text.value !== "") (draft.content ??= []).push(text)
}
