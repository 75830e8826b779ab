import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readExtension } from "#domain/normalize/Extensions.ts"
import { getTrimmedText } from "#domain/normalize/xml/Element.ts"

/** Slashdot's module: the number of comments, and where the entry was filed. */
export const slash: Vocabulary = {
  comments: (element, draft) => {
    const count = Number.parseInt(getTrimmedText(element), 10)
    if (count >= 0) draft.commentCount ??= count
  },
  section: readExtension("slash"),
  department: readExtension("slash"),
  hit_parade: readExtension("slash")
}
