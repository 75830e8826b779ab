import { type ElementContext, resolveIn } from "#domain/normalize/ElementContext.ts"
import { addLinkTo } from "#domain/normalize/Links.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import { type Element, getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** Licenses in the module for RSS 2.0: the text is the URL. */
export const creativeCommons: Namespace = {
  key: "creativecommons",
  uris: [
    "http://backend.userland.com/creativecommonsrssmodule",
    "http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html"
  ],
  vocabulary: {
    license: (element, draft, context) => {
      const license = readLicense(element, context)
      if (license === undefined) return
      draft.license ??= license
      addLinkTo(draft, "license", license)
    }
  }
}

/** Licenses in RDF: an attribute is the URL. A fallback for the module for RSS 2.0. */
export const rdfLicense: Namespace = {
  key: "cc",
  uris: ["http://web.resource.org/cc", "http://creativecommons.org/ns#"],
  vocabulary: {
    license: (element, draft, context) => {
      const license = readLicense(element, context)
      if (license === undefined) return
      draft.fallbacks.license ??= license
      addLinkTo(draft, "license", license)
    }
  }
}

const readLicense = (element: Element, context: ElementContext): string | undefined => {
  const address = getValue(element, "resource") ?? getValue(element, "about") ?? getNonEmptyText(element)
  return address === undefined ? undefined : resolveIn(element, context, address)
}
