import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { extend } from "#domain/normalize/Extensions.ts"

/** Dave Winer's `source` namespace: the Markdown that an item was written in, and what it belongs to. */
export const scripting: Vocabulary = {
  markdown: extend("source"),
  account: extend("source"),
  inreplyto: extend("source"),
  likes: extend("source"),
  localtime: extend("source"),
  self: extend("source")
}
