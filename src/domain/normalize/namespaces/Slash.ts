import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { extend } from "#domain/normalize/Extensions.ts"
import { trimmed } from "#domain/normalize/xml/Element.ts"

/** Slashdot's module: the number of comments, and where the entry was filed. */
export const slash: Vocabulary = {
  comments: (element, draft) => {
    const count = Number.parseInt(trimmed(element), 10)
    if (count >= 0) draft.commentCount ??= count
  },
  section: extend("slash"),
  department: extend("slash"),
  hit_parade: extend("slash")
}
