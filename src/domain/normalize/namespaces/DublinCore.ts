import type { ElementReader, Vocabulary } from "#domain/normalize/ElementContext.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { addPerson, readPerson } from "#domain/normalize/Persons.ts"
import { getNonEmptyText, readText } from "#domain/normalize/Texts.ts"
import { getText } from "#domain/normalize/xml/Element.ts"

/** Dublin Core elements and terms. What the dialect itself says of the same thing goes before. */
export const dublinCore: Vocabulary = {
  title: (element, draft, context) => {
    draft.fallbacks.title ??= readText(element, context, "text")
  },
  description: (element, draft, context) => {
    draft.fallbacks.description ??= readText(element, context, "html")
  },
  creator: addAuthor,
  author: addAuthor,
  contributor: (element, draft, context) => {
    draft.contributors = addPerson(draft.contributors, readPerson(element, context))
  },
  publisher: (element, draft, context) => {
    draft.publisher ??= readPerson(element, context)
  },
  subject: (element, draft) => {
    const term = getNonEmptyText(element)
    if (term !== undefined) (draft.categories ??= []).push({ term })
  },
  date: (element, draft) => {
    draft.fallbacks.date ??= parseDate(getText(element))
  },
  created: readTermDateInto("created"),
  issued: readTermDateInto("published"),
  modified: readTermDateInto("updated"),
  language: (element, draft) => {
    draft.language ??= getNonEmptyText(element)
  },
  rights: (element, draft, context) => {
    draft.rights ??= readText(element, context, "text")
  },
  identifier: (element, draft) => {
    draft.fallbacks.id ??= getNonEmptyText(element)
  }
}

function addAuthor(...[element, draft, context]: Parameters<ElementReader>): void {
  draft.authors = addPerson(draft.authors, readPerson(element, context))
}

function readTermDateInto(field: "created" | "published" | "updated"): ElementReader {
  return (element, draft) => {
    draft[field] = parseDate(getText(element)) ?? draft[field]
  }
}
