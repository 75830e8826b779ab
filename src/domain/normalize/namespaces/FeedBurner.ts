import { type Vocabulary, within } from "#domain/normalize/ElementContext.ts"
import { plainText, words } from "#domain/normalize/Texts.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** FeedBurner replaces links by counted ones, and tells the originals. */
export const feedBurner: Vocabulary = {
  origlink: (element, draft, context) => {
    const address = words(element)
    if (address !== undefined) draft.originalLink ??= resolve(within(element, context).base, address)
  },
  origenclosurelink: (element, draft, context) => {
    const address = words(element)
    if (address !== undefined) draft.other.enclosure ??= resolve(within(element, context).base, address)
  },
  /** A sentence for people who open the feed in a browser. */
  browserfriendly: (element, draft, context) => {
    const info = plainText(element, context, "text")
    if (info.value !== "") draft.info ??= info
  }
}
