import type { Media, MediaContent } from "#domain/feed/Entry.ts"
import { type Draft, dropUndefined, type Writable } from "#domain/normalize/Draft.ts"
import { type ElementContext, type ElementReader, enterElement, resolveIn } from "#domain/normalize/ElementContext.ts"
import { addLink } from "#domain/normalize/Links.ts"
import { getNonEmptyText, readText } from "#domain/normalize/Texts.ts"
import { type Element, findChild, getAttribute, getChildElements, getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"
import { parseSize } from "./Rss.ts"

const maxMedia = 100
const defaultScheme = "http://search.yahoo.com/mrss/category_schema"

/** Media RSS. Elements inside a group or content belong to the entry, as most publishers intend. */
export const media: Namespace = {
  key: "media",
  uris: ["http://search.yahoo.com/mrss", "http://video.search.yahoo.com/mrss", "http://tools.search.yahoo.com/mrss"],
  vocabulary: {
    group: readSameNamespace,
    content: (element, draft, context) => {
      const contents = getMedia(draft).contents ??= []
      if (contents.length < maxMedia) {
        const content = readMediaContent(element, context)
        contents.push(content)
        if (isImage(content)) draft.fallbacks.picture ??= content.url
      }
      readSameNamespace(element, draft, context)
    },
    thumbnail: (element, draft, context) => {
      const url = getValue(element, "url") ?? getNonEmptyText(element)
      const thumbnails = getMedia(draft).thumbnails ??= []
      if (url === undefined || thumbnails.length >= maxMedia) return
      const thumbnail = resolveIn(element, context, url)
      draft.fallbacks.thumbnail ??= thumbnail
      thumbnails.push({
        url: thumbnail,
        ...dropUndefined({
          width: parseSize(getValue(element, "width")),
          height: parseSize(getValue(element, "height"))
        })
      })
    },
    title: (element, draft, context) => {
      const title = readText(element, context, "text")
      if (title.value === "") return
      getMedia(draft).title ??= title.value
      draft.fallbacks.title ??= title
    },
    description: (element, draft, context) => {
      readMediaDescription(element, draft, context)
      const text = readText(element, context, getValue(element, "type") === "html" ? "html" : "text")
      if (text.value !== "") draft.fallbacks.mediaDescription ??= text
    },
    /** A file that peers share, mostly a torrent. */
    peerlink: (element, draft, context) => {
      const href = getValue(element, "href") ?? getValue(element, "url")
      if (href === undefined) return
      const link = { href: resolveIn(element, context, href), rel: "enclosure" }
      addLink(draft, { ...link, ...dropUndefined({ type: getValue(element, "type") }) })
    },
    keywords: readMediaTextInto("keywords"),
    rating: readMediaTextInto("rating"),
    credit: (element, draft) => {
      const name = getNonEmptyText(element)
      const credits = getMedia(draft).credits ??= []
      if (name !== undefined && credits.length < maxMedia) {
        credits.push({ value: name, ...dropUndefined({ role: getValue(element, "role") }) })
      }
    },
    category: (element, draft) => {
      const label = getValue(element, "label")
      const term = getNonEmptyText(element) ?? label
      const scheme = getAttribute(element, "scheme") ?? defaultScheme
      if (term !== undefined) {
        ;(draft.categories ??= []).push({
          term,
          ...dropUndefined({ scheme: scheme === "" ? undefined : scheme, label })
        })
      }
    },
    player: (element, draft, context) => {
      const url = getValue(element, "url")
      if (url !== undefined) getMedia(draft).player ??= resolveIn(element, context, url)
    },
    copyright: (element, draft, context) => {
      const text = readText(element, context, "text")
      if (text.value !== "") draft.rights ??= text
    }
  }
}

function readSameNamespace(element: Element, draft: Draft, outer: ElementContext): void {
  const context = enterElement(element, outer)
  for (const child of getChildElements(element)) {
    if (child.namespace === element.namespace) context.read(child, draft, context)
  }
}

const readMediaDescription = readMediaTextInto("description")

function readMediaTextInto(field: "description" | "keywords" | "rating"): ElementReader {
  return (element, draft) => {
    const text = getNonEmptyText(element)
    if (text !== undefined) getMedia(draft)[field] ??= text
  }
}

const getMedia = (draft: Draft): Writable<Media> => draft.media ??= {}

const isImage = ({ type, medium }: MediaContent): boolean => medium === "image" || type?.startsWith("image/") === true

const readMediaContent = (element: Element, context: ElementContext): MediaContent => {
  const url = getValue(element, "url")
  const title = findChild(element, "title")
  return dropUndefined({
    url: url === undefined ? undefined : resolveIn(element, context, url),
    type: getValue(element, "type"),
    medium: getValue(element, "medium"),
    width: parseSize(getValue(element, "width")),
    height: parseSize(getValue(element, "height")),
    duration: getValue(element, "duration"),
    fileSize: parseSize(getValue(element, "filesize")),
    language: getValue(element, "lang"),
    isDefault: getValue(element, "isdefault") === undefined ? undefined : getValue(element, "isdefault") === "true",
    title: title === undefined ? undefined : getNonEmptyText(title)
  })
}
