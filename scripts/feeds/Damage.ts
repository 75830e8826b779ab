import { nextInteger, pick, type Random } from "./Random.ts"

/** A random fault in a document, as from a template, an editor, a proxy or a disk. */
export type Damage = (next: Random, text: string) => string

const snippets = [
  "<",
  ">",
  "&",
  "\"",
  "'",
  "</",
  "<b>",
  "</p>",
  "<br>",
  "]]>",
  "<![CDATA[",
  "<!--",
  "-->",
  "&nbsp;",
  "&#x0;",
  "\0",
  "\u0008",
  "<?php ?>",
  "=",
  " xmlns=\"\""
]

const tagPattern = /<\/?[A-Za-z][^<>]*>/g

export const damages: { readonly [kind: string]: Damage } = {
  insert: (next, text) => {
    const at = nextInteger(next, text.length)
    return text.slice(0, at) + pick(next, snippets) + text.slice(at)
  },
  delete: (next, text) => {
    const at = nextInteger(next, text.length)
    return text.slice(0, at) + text.slice(at + 1 + nextInteger(next, 40))
  },
  truncate: (next, text) => text.slice(0, Math.floor(text.length * (0.3 + 0.7 * next()))),
  dropTag: (next, text) => {
    const tag = pick(next, [...text.matchAll(tagPattern)])
    return text.slice(0, tag.index) + text.slice(tag.index + tag[0].length)
  },
  flip: (next, text) => {
    const characters = [...text]
    for (let count = 0; count < 10; count++) {
      const at = nextInteger(next, characters.length)
      characters[at] = String.fromCharCode((characters[at]!.charCodeAt(0) ^ (1 << nextInteger(next, 7))) & 0x7f)
    }
    return characters.join("")
  }
}
