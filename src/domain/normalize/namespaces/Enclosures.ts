import { enterElement, type Vocabulary } from "#domain/normalize/ElementContext.ts"
import { dropUndefined } from "#domain/normalize/Draft.ts"
import { addLink, parseLength } from "#domain/normalize/Links.ts"
import { getValue } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** RSS 1.0 has no enclosures; this module has, as Craigslist uses it: the address is `rdf:resource`. */
export const enclosures: Vocabulary = {
  enclosure: (element, draft, context) => {
    const address = getValue(element, "resource") ?? getValue(element, "url")
    if (address === undefined) return
    addLink(draft, {
      href: resolve(enterElement(element, context).base, address),
      rel: "enclosure",
      ...dropUndefined({ type: getValue(element, "type"), length: parseLength(getValue(element, "length")) })
    })
  }
}
