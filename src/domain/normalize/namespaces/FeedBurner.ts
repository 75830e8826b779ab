import { type Vocabulary, within } from "#domain/normalize/Context.ts"
import { words } from "#domain/normalize/Texts.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** FeedBurner replaces links by counted ones, and tells the original. */
export const feedBurner: Vocabulary = {
  origlink: (element, draft, context) => {
    const address = words(element)
    if (address !== undefined) draft.originalLink ??= resolve(within(element, context).base, address)
  }
}
