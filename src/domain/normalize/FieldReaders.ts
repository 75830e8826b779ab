import { parseDate } from "./dates/ParseDate.ts"
import type { Draft } from "./Draft.ts"
import type { ElementReader } from "./ElementContext.ts"
import { readText } from "./Texts.ts"
import { getText } from "./xml/Element.ts"

/** A reader of a date. The last valid date of a field counts. */
export const readDateInto =
  (field: "published" | "updated" | "created" | "expired"): ElementReader => (element, draft) => {
    draft[field] = parseDate(getText(element)) ?? draft[field]
  }

/** Adds an element's HTML to the contents of an entry. */
export const addContent: ElementReader = (element, draft: Draft, context) => {
  const content = readText(element, context, "html")
  if (content.value !== "") (draft.content ??= []).push(content)
}
