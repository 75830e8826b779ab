import { type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { defined } from "#domain/normalize/Draft.ts"
import { addLink, lengthOf } from "#domain/normalize/Links.ts"
import { value } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** RSS 1.0 has no enclosures; this module has, as Craigslist uses it: the address is `rdf:resource`. */
export const enclosures: Vocabulary = {
  enclosure: (element, draft, context) => {
    const address = value(element, "resource") ?? value(element, "url")
    if (address === undefined) return
    addLink(draft, {
      href: resolve(within(element, context).base, address),
      rel: "enclosure",
      ...defined({ type: value(element, "type"), length: lengthOf(value(element, "length")) })
    })
  }
}
