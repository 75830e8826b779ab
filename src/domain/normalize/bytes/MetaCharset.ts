import { type HtmlTag, readTags } from "#domain/normalize/HtmlTags.ts"

/** Browsers accept a `<meta>` at any place. Pages with long scripts or styles in front need some 100 kB. */
const maxBytes = 262_144

const latin1Decoder = new TextDecoder("latin1")

/**
 * Finds the charset of a page: `<meta charset="…">` or `<meta http-equiv="Content-Type" content="text/html; charset=…">`.
 *
 * A `<meta>` inside a comment, script or title does not count.
 */
export const findMetaCharset = (bytes: Uint8Array): string | undefined => {
  const text = latin1Decoder.decode(bytes.subarray(0, maxBytes))
  // Most pages without a charset have no such word, and need no search for tags.
  if (!/charset/i.test(text)) return undefined
  for (const tag of readTags(text)) {
    const charset = readCharset(tag)
    if (charset !== undefined) return charset
  }
  return undefined
}

const contentCharset = /charset\s*=\s*["']?\s*([^"';\s]{1,60})/i

const readCharset = ({ key, isEnd, attributes }: HtmlTag): string | undefined => {
  if (key !== "meta" || isEnd) return undefined
  const charset = attributes.get("charset")
  if (charset !== undefined && charset !== "") return charset
  return attributes.get("http-equiv")?.toLowerCase() === "content-type"
    ? contentCharset.exec(attributes.get("content") ?? "")?.[1]
    : undefined
}
