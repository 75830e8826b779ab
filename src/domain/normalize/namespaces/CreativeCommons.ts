import { type Vocabulary, within } from "#domain/normalize/Context.ts"
import { addAddress } from "#domain/normalize/Links.ts"
import { words } from "#domain/normalize/Texts.ts"
import { value } from "#domain/normalize/Tree.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** Licences, in the RSS 2.0 module's way (text) and the RDF one (an attribute). */
export const creativeCommons: Vocabulary = {
  license: (element, draft, context) => {
    const address = value(element, "resource") ?? value(element, "about") ?? words(element)
    if (address === undefined) return
    const license = resolve(within(element, context).base, address)
    draft.license ??= license
    addAddress(draft, "license", license)
  }
}
