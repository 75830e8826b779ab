import type { Reader, Vocabulary } from "#domain/normalize/ElementContext.ts"
import { plainText } from "#domain/normalize/Texts.ts"

/** A body of XHTML beside the description. */
export const xhtml: Vocabulary = {
  body: addContent,
  div: addContent
}

function addContent(...[element, draft, context]: Parameters<Reader>): void {
  const text = plainText(element, context, "html")
  if (text.value !== "") (draft.content ??= []).push(text)
}
