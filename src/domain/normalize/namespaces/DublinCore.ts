import type { Reader, Vocabulary } from "#domain/normalize/ElementContext.ts"
import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import { addPerson, personIn } from "#domain/normalize/Persons.ts"
import { plainText, words } from "#domain/normalize/Texts.ts"
import { textOf } from "#domain/normalize/xml/Element.ts"

/** Dublin Core elements and terms. What the dialect itself says of the same thing goes before. */
export const dublinCore: Vocabulary = {
  title: (element, draft, context) => {
    draft.other.title ??= plainText(element, context, "text")
  },
  description: (element, draft, context) => {
    draft.other.description ??= plainText(element, context, "html")
  },
  creator: addAuthor,
  author: addAuthor,
  contributor: (element, draft, context) => {
    draft.contributors = addPerson(draft.contributors, personIn(element, context))
  },
  publisher: (element, draft, context) => {
    draft.publisher ??= personIn(element, context)
  },
  subject: (element, draft) => {
    const term = words(element)
    if (term !== undefined) (draft.categories ??= []).push({ term })
  },
  date: (element, draft) => {
    draft.other.date ??= parseDate(textOf(element))
  },
  created: dateInto("created"),
  issued: dateInto("published"),
  modified: dateInto("updated"),
  language: (element, draft) => {
    draft.language ??= words(element)
  },
  rights: (element, draft, context) => {
    draft.rights ??= plainText(element, context, "text")
  },
  identifier: (element, draft) => {
    draft.other.id ??= words(element)
  }
}

function addAuthor(...[element, draft, context]: Parameters<Reader>): void {
  draft.authors = addPerson(draft.authors, personIn(element, context))
}

function dateInto(field: "created" | "published" | "updated"): Reader {
  return (element, draft) => {
    draft[field] = parseDate(textOf(element)) ?? draft[field]
  }
}
