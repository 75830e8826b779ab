import { parseDate } from "#domain/normalize/dates/ParseDate.ts"
import type { ElementReader } from "#domain/normalize/ElementContext.ts"
import { readDateInto } from "#domain/normalize/FieldReaders.ts"
import { addPerson, readPerson } from "#domain/normalize/Persons.ts"
import { getNonEmptyText, readText } from "#domain/normalize/Texts.ts"
import { getText } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** Dublin Core elements. Elements of the dialect itself take precedence. */
export const dublinCore: Namespace = {
  key: "dc",
  uris: ["http://purl.org/dc/elements/1.1", "http://purl.org/dc/elements/1.0"],
  vocabulary: {
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
    created: readDateInto("created"),
    issued: readDateInto("published"),
    modified: readDateInto("updated"),
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
}

export const dublinCoreTerms: Namespace = { ...dublinCore, key: "dcterms", uris: ["http://purl.org/dc/terms"] }

function addAuthor(...[element, draft, context]: Parameters<ElementReader>): void {
  draft.authors = addPerson(draft.authors, readPerson(element, context))
}
