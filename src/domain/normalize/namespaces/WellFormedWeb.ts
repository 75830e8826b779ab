import { enterElement, type Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readExtension } from "#domain/normalize/Extensions.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** The Comment API: the feed of an entry's comments, and where to post one. */
export const wellFormedWeb: Vocabulary = {
  commentrss: (element, draft, context) => {
    const address = getNonEmptyText(element)
    if (address !== undefined) draft.commentsFeed ??= resolve(enterElement(element, context).base, address)
  },
  comment: readExtension("wfw")
}
