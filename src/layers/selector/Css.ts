import { type CheerioAPI, load } from "cheerio"
import { decodeAs } from "#domain/normalize/Decode.ts"
import { collected, messageOf, Unselectable } from "./Limits.ts"
import { textOf } from "./Text.ts"
import { Trees } from "./Trees.ts"

/** The smallest documents on which every part of a path is looked at. */
const sample = "<p><a></a></p>"

export const checkCss = (path: string): void => void find(load(sample), path)

const pages = new Trees((bytes, contentType) => load(pageOf(bytes, contentType)))
const documents = new Trees((bytes, contentType) => load(pageOf(bytes, contentType), { xml: true }))

/** The outer HTML of all matches, in document order. */
export const selectCss = (
  bytes: Uint8Array,
  contentType: string | undefined,
  path: string,
  syntax: "html" | "xml"
): ReadonlyArray<string> => {
  const root = (syntax === "xml" ? documents : pages).of(bytes, contentType ?? "")
  return collected(find(root, path), (element) => root.html(element))
}

/** What the library would take for markup to be made, or pass over in silence. */
const mistaken = /^<|[>+~]$/

const find = (document: CheerioAPI, path: string) => {
  const stray = mistaken.exec(path)?.[0]
  if (stray !== undefined) {
    throw new Unselectable(
      "invalid",
      `${JSON.stringify(path)} is no CSS path: there is nothing to find with this ${stray}`
    )
  }
  try {
    return document.root().find(path).toArray()
  } catch (error) {
    throw new Unselectable("invalid", `${JSON.stringify(path)} is no CSS path: ${messageOf(error)}`, { cause: error })
  }
}

const declared = /<meta\b[^>]{0,200}?charset\s*=\s*["']?\s*([\w-]{1,40})/i

/** The charset of a `meta` element counts where the header has none. */
const pageOf = (bytes: Uint8Array, contentType: string): string => {
  const charset = /charset/i.test(contentType)
    ? undefined
    : declared.exec(decodeAs(bytes.subarray(0, 1024), "latin1"))?.[1]
  return textOf(bytes, charset === undefined ? contentType : `text/html; charset=${charset}`)
}
