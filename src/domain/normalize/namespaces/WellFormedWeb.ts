import { type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { extend } from "#domain/normalize/Extensions.ts"
import { words } from "#domain/normalize/Texts.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** The Comment API: the feed of an entry's comments, and where to post one. */
export const wellFormedWeb: Vocabulary = {
  commentrss: (element, draft, context) => {
    const address = words(element)
    if (address !== undefined) draft.commentsFeed ??= resolve(within(element, context).base, address)
  },
  comment: extend("wfw")
}
