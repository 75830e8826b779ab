import { decodeReferences } from "#domain/normalize/xml/CharacterReferences.ts"

export interface HtmlTag {
  /** Name in lower case. */
  readonly key: string
  readonly isEnd: boolean
  /** Attributes by names in lower case. The first of a name counts. */
  readonly attributes: ReadonlyMap<string, string>
}

/** Elements whose content is text or has no effect. */
const opaqueElements = new Set(["title", "script", "style", "noscript", "template", "textarea"])

const tagPattern = /<(\/?)([a-z][^\s/>]*)/iy
const attributePattern = /[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)(?:"|$)|'([^']*)(?:'|$)|([^\s>]*)))?/y

/** Reads the tags of a page in order, without comments and without the content of scripts, styles and titles. Takes linear time and never throws. */
export function* readTags(text: string): Generator<HtmlTag, void> {
  for (let at = text.indexOf("<"); at >= 0; at = text.indexOf("<", at)) {
    if (text.startsWith("<!--", at)) {
      at = skipBehind(text, "-->", at + 4)
      continue
    }
    tagPattern.lastIndex = at
    const tag = tagPattern.exec(text)
    const key = tag?.[2]?.toLowerCase()
    if (key === undefined) {
      at = skipBehind(text, ">", at + 1)
      continue
    }
    const isEnd = tag?.[1] === "/"
    const { attributes, end } = readAttributes(text, tagPattern.lastIndex)
    at = opaqueElements.has(key) && !isEnd ? skipContent(text, key, end) : end
    yield { key, isEnd, attributes }
  }
}

/** The position behind the next `mark`, or the end of the text. */
const skipBehind = (text: string, mark: string, from: number): number => {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found + mark.length
}

const skipContent = (text: string, key: string, from: number): number => {
  const close = new RegExp(`</${key}(?=[\\s/>])`, "gi")
  close.lastIndex = from
  return close.test(text) ? close.lastIndex : text.length
}

const readAttributes = (text: string, start: number) => {
  const attributes = new Map<string, string>()
  let end = start
  while (true) {
    attributePattern.lastIndex = end
    const found = attributePattern.exec(text)
    if (found === null) return { attributes, end }
    end = attributePattern.lastIndex
    const key = found[1]?.toLowerCase() ?? ""
    if (!attributes.has(key)) attributes.set(key, decodeReferences(found[2] ?? found[3] ?? found[4] ?? "").trim())
  }
}
