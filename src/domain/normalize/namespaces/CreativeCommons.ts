import { type ElementContext, enterElement, type Vocabulary } from "#domain/normalize/ElementContext.ts"
import { addLinkTo } from "#domain/normalize/Links.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import { type Element, getValue } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** Licences as the module for RSS 2.0 gives them: the text is the address. */
export const creativeCommons: Vocabulary = {
  license: (element, draft, context) => {
    const license = readLicense(element, context)
    if (license === undefined) return
    draft.license ??= license
    addLinkTo(draft, "license", license)
  }
}

/** Licences in RDF, an attribute; in RSS 2.0 the module made for it goes before. */
export const rdfLicense: Vocabulary = {
  license: (element, draft, context) => {
    const license = readLicense(element, context)
    if (license === undefined) return
    draft.fallbacks.license ??= license
    addLinkTo(draft, "license", license)
  }
}

const readLicense = (element: Element, context: ElementContext): string | undefined => {
  const address = getValue(element, "resource") ?? getValue(element, "about") ?? getNonEmptyText(element)
  return address === undefined ? undefined : resolve(enterElement(element, context).base, address)
}
