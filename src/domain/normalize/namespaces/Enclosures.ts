import { dropUndefined } from "#domain/normalize/Draft.ts"
import { resolveIn } from "#domain/normalize/ElementContext.ts"
import { addLink, parseLength } from "#domain/normalize/Links.ts"
import { getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** Enclosures in RSS 1.0, as in Craigslist's feeds: the URL is `rdf:resource`. */
export const enclosures: Namespace = {
  key: "enc",
  uris: ["http://purl.oclc.org/net/rss_2.0/enc#"],
  vocabulary: {
    enclosure: (element, draft, context) => {
      const address = getValue(element, "resource") ?? getValue(element, "url")
      if (address === undefined) return
      addLink(draft, {
        href: resolveIn(element, context, address),
        rel: "enclosure",
        ...dropUndefined({ type: getValue(element, "type"), length: parseLength(getValue(element, "length")) })
      })
    }
  }
}
