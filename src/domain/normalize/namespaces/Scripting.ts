import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readExtension } from "#domain/normalize/Extensions.ts"

/** Dave Winer's `source` namespace: the Markdown that an item was written in, and what it belongs to. */
export const scripting: Vocabulary = {
  markdown: readExtension("source"),
  account: readExtension("source"),
  inreplyto: readExtension("source"),
  likes: readExtension("source"),
  localtime: readExtension("source"),
  self: readExtension("source")
}
