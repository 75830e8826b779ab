import type { Context, Vocabulary } from "#domain/normalize/ElementContext.ts"
import type { Draft } from "#domain/normalize/Draft.ts"
import { extendWith } from "#domain/normalize/Extensions.ts"
import { words } from "#domain/normalize/Texts.ts"
import { type Element, value } from "#domain/normalize/xml/Element.ts"

/** Podcasting 2.0: elements with one value, which is their text or the address in an attribute. */
export const podcast: Vocabulary = Object.fromEntries(
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
    .map((key) => [key, keep])
)

function keep(element: Element, draft: Draft, _context: Context): void {
  extendWith(
    draft,
    "podcast",
    element.name,
    value(element, "url") ?? value(element, "href") ?? words(element) ?? value(element, "number")
  )
}
