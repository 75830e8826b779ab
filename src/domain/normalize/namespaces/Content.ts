import type { Text } from "#domain/feed/Entry.ts"
import type { ElementContext } from "#domain/normalize/ElementContext.ts"
import { readText } from "#domain/normalize/Texts.ts"
import { type Element, getChildElements } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** RSS 1.0 content: the whole entry, preferred to other content. */
export const content: Namespace = {
  key: "content",
  uris: ["http://purl.org/rss/1.0/modules/content"],
  vocabulary: {
    encoded: (element, draft, context) => {
      const text = readText(element, context, "html")
      if (text.value !== "") draft.content = [text, ...draft.content ?? []].slice(0, maxContents)
    },
    /** The older form: a bag of items with a value each. */
    items: (element, draft, context) => {
      const texts = readValues(element, context)
      if (texts.length > 0) draft.content = [...draft.content ?? [], ...texts].slice(0, maxContents)
    }
  }
}

const maxContents = 20

const readValues = (element: Element, context: ElementContext): ReadonlyArray<Text> =>
  getChildElements(element).slice(0, maxContents).flatMap((child) =>
    child.namespace === "rdf" && child.key === "value" ? [readText(child, context, "html")] : readValues(child, context)
  )
