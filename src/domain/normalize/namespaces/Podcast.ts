import type { Draft } from "#domain/normalize/Draft.ts"
import { addExtension } from "#domain/normalize/FieldReaders.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import { type Element, getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** Podcasting 2.0: elements with one value, either a text or a URL in an attribute. */
export const podcast: Namespace = {
  key: "podcast",
  uris: [
    "http://podcastindex.org/namespace/1.0",
    "http://github.com/podcastindex-org/podcast-namespace/blob/main/docs/1.0.md"
  ],
  vocabulary: Object.fromEntries(
    [
      "guid",
      "medium",
      "locked",
      "funding",
      "transcript",
      "chapters",
      "season",
      "episode",
      "location",
      "license",
      "person",
      "soundbite",
      "trailer",
      "image"
    ]
      .map((key) => [key, keepValue])
  )
}

function keepValue(element: Element, draft: Draft): void {
  addExtension(
    draft,
    "podcast",
    element.name,
    getValue(element, "url") ?? getValue(element, "href") ?? getNonEmptyText(element) ?? getValue(element, "number")
  )
}
