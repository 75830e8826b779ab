import { Effect } from "effect"
import type { Text } from "#domain/feed/Entry.ts"
import { Html, html } from "./Html.ts"

/** Characters of a content that are shown. */
const maxLength = 256 * 1024

/** Tags of a content that are shown: the time of the parser grows with the square of the open elements. */
const maxTags = 8_000

/** Levels of elements. */
const maxDepth = 60

/**
 * The content of an entry as safe markup: text and its structure, without styles, scripts, forms and frames.
 *
 * Nothing is loaded from other servers: images, audio and video become links. Links tell their target nothing about this service.
 */
export const sanitize = (text: Text): Effect.Effect<Html> => {
  const value = text.value.slice(0, maxLength).toWellFormed()
  if (text.type !== "html" && text.type !== "xhtml") {
    return Effect.succeed(html`<pre class="wrap">${value}</pre>`)
  }
  return Effect.map(
    Effect.promise(() => import("sanitize-html")), // loads a CSS parser, too
    ({ default: clean }) =>
      Html.trusted(
        clean(cutTags(value), {
          allowedTags,
          allowedAttributes: { a: ["href", "rel"], bdo: [], td: ["colspan", "rowspan"], th: ["colspan", "rowspan"] },
          allowedSchemes: ["http", "https", "mailto"],
          allowProtocolRelative: false,
          disallowedTagsMode: "discard",
          enforceHtmlBoundary: false,
          nestingLimit: maxDepth,
          nonTextTags: ["script", "style", "textarea", "option", "noscript", "template", "svg", "math"],
          textFilter: showHidden,
          transformTags: {
            a: (tagName, { href = "" }) => ({ tagName, attribs: linkAttributes(href) }),
            h1: "h4",
            h2: "h4",
            h3: "h4",
            img: (_, attributes) => mediaLink("Image", attributes),
            audio: (_, attributes) => mediaLink("Audio", attributes),
            video: (_, attributes) => mediaLink("Video", attributes),
            source: (_, attributes) => mediaLink("Media", attributes),
            iframe: (_, attributes) => mediaLink("Frame", attributes)
          }
        })
      )
  )
}

/** The markup up to its tag `maxTags`. */
const cutTags = (markup: string): string => {
  let at = -1
  for (let tags = 0; tags <= maxTags; tags++) {
    at = markup.indexOf("<", at + 1)
    if (at < 0) return markup
  }
  return markup.slice(0, at)
}

const allowedTags = [
  ..."a abbr b bdi blockquote br caption cite code dd del dfn div dl dt em figcaption figure h4 h5 h6 hr i ins kbd li mark"
    .split(" "),
  ..."ol p pre q rp rt ruby s samp small span strong sub sup table tbody td tfoot th thead time tr u ul var wbr".split(
    " "
  )
]

const mediaLink = (kind: string, { alt = "", src = "" }: { readonly [name: string]: string }) => ({
  tagName: "a",
  attribs: linkAttributes(src),
  text: `[${kind}${alt === "" ? "" : `: ${showHidden(alt.slice(0, 200))}`}]`
})

/** A link to another site. A relative one would lead to a page of this service. */
const linkAttributes = (href: string): Record<string, string> =>
  /^\s*(?:https?:\/\/|mailto:)/i.test(href) ? { href: href.trim(), rel: "noreferrer nofollow" } : {}

/** Makes control characters and changes of the direction of text visible. */
const showHidden = (text: string): string =>
  text.replace(
    /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`
  )
