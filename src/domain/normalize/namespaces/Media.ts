import type { Media, MediaContent } from "#domain/feed/Entry.ts"
import { type Context, type Reader, type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { defined, type Draft, type Writable } from "#domain/normalize/Draft.ts"
import { plainText, words } from "#domain/normalize/Texts.ts"
import { attribute, type Element, elements, find, value } from "#domain/normalize/xml/Element.ts"
import { resolve } from "#domain/normalize/Urls.ts"
import { sizeOf } from "./Rss.ts"

const MOST = 100
const DEFAULT_SCHEME = "http://search.yahoo.com/mrss/category_schema"

/** Media RSS. What stands in a group or beside a content is of the entry, as most publishers mean it. */
export const media: Vocabulary = {
  group: readInside,
  content: (element, draft, context) => {
    const contents = mediaOf(draft).contents ??= []
    if (contents.length < MOST) {
      const content = contentOf(element, context)
      contents.push(content)
      if (draft.kind === "feed" && isImage(content)) draft.other.image ??= defined({ url: content.url })
    }
    readInside(element, draft, context)
  },
  thumbnail: (element, draft, context) => {
    const url = value(element, "url") ?? words(element)
    const thumbnails = mediaOf(draft).thumbnails ??= []
    if (url === undefined || thumbnails.length >= MOST) return
    thumbnails.push({
      url: resolve(within(element, context).base, url),
      ...defined({ width: sizeOf(value(element, "width")), height: sizeOf(value(element, "height")) })
    })
  },
  title: (element, draft, context) => {
    const title = plainText(element, context, "text")
    if (title.value === "") return
    mediaOf(draft).title ??= title.value
    draft.other.title ??= title
  },
  description: textInto("description"),
  keywords: textInto("keywords"),
  rating: textInto("rating"),
  credit: (element, draft) => {
    const name = words(element)
    const credits = mediaOf(draft).credits ??= []
    if (name !== undefined && credits.length < MOST) {
      credits.push({ value: name, ...defined({ role: value(element, "role") }) })
    }
  },
  category: (element, draft) => {
    const label = value(element, "label")
    const term = words(element) ?? label
    const scheme = attribute(element, "scheme") ?? DEFAULT_SCHEME
    if (term !== undefined) {
      ;(draft.categories ??= []).push({ term, ...defined({ scheme: scheme === "" ? undefined : scheme, label }) })
    }
  },
  player: (element, draft, context) => {
    const url = value(element, "url")
    if (url !== undefined) mediaOf(draft).player ??= resolve(within(element, context).base, url)
  },
  copyright: (element, draft, context) => {
    const text = plainText(element, context, "text")
    if (text.value !== "") draft.rights ??= text
  }
}

function readInside(element: Element, draft: Draft, around: Context): void {
  const context = within(element, around)
  for (const child of elements(element)) if (child.namespace === element.namespace) context.read(child, draft, context)
}

function textInto(field: "description" | "keywords" | "rating"): Reader {
  return (element, draft) => {
    const text = words(element)
    if (text !== undefined) mediaOf(draft)[field] ??= text
  }
}

const mediaOf = (draft: Draft): Writable<Media> => draft.media ??= {}

const isImage = ({ type, medium }: MediaContent): boolean => medium === "image" || type?.startsWith("image/") === true

const contentOf = (element: Element, context: Context): MediaContent => {
  const url = value(element, "url")
  const title = find(element, "title")
  return defined({
    url: url === undefined ? undefined : resolve(within(element, context).base, url),
    type: value(element, "type"),
    medium: value(element, "medium"),
    width: sizeOf(value(element, "width")),
    height: sizeOf(value(element, "height")),
    duration: value(element, "duration"),
    fileSize: sizeOf(value(element, "filesize")),
    language: value(element, "lang"),
    isDefault: value(element, "isdefault") === undefined ? undefined : value(element, "isdefault") === "true",
    title: title === undefined ? undefined : words(title)
  })
}
