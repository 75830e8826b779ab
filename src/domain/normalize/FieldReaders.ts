import type { Draft } from "./Draft.ts"
import type { ElementReader } from "./ElementContext.ts"
import { getNonEmptyText, readText } from "./Texts.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { getText } from "#domain/normalize/xml/Element.ts"

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

const maxNames = 64
const maxValues = 32

/** Keeps a simple value of a namespace under its name. A second value makes a list. */
export const addExtension = (draft: Draft, namespace: string, name: string, value: string | undefined): void => {
  if (value === undefined) return
  const names = (draft.extensions ??= {})[namespace] ??= {}
  const known = names[name]
  if (known === undefined) {
    if (Object.keys(names).length < maxNames) names[name] = value
  } else if (typeof known === "string") names[name] = [known, value]
  else if (known.length < maxValues) known.push(value)
}

/** Makes a reader that keeps an element's text. */
export const readExtension = (namespace: string): ElementReader => (element, draft) =>
  addExtension(draft, namespace, element.name, getNonEmptyText(element))
