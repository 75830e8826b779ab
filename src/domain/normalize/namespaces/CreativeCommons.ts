import { type Context, type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { addAddress } from "#domain/normalize/Links.ts"
import { words } from "#domain/normalize/Texts.ts"
import { type Element, value } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** Licences as the module for RSS 2.0 gives them: the text is the address. */
export const creativeCommons: Vocabulary = {
  license: (element, draft, context) => {
    const license = addressOf(element, context)
    if (license === undefined) return
    draft.license ??= license
    addAddress(draft, "license", license)
  }
}

/** Licences in RDF, an attribute; in RSS 2.0 the module made for it goes before. */
export const rdfLicence: Vocabulary = {
  license: (element, draft, context) => {
    const license = addressOf(element, context)
    if (license === undefined) return
    draft.other.license ??= license
    addAddress(draft, "license", license)
  }
}

const addressOf = (element: Element, context: Context): string | undefined => {
  const address = value(element, "resource") ?? value(element, "about") ?? words(element)
  return address === undefined ? undefined : resolve(within(element, context).base, address)
}
