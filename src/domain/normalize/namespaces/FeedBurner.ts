import { enterElement, type Vocabulary } from "#domain/normalize/ElementContext.ts"
import { getNonEmptyText, readText } from "#domain/normalize/Texts.ts"
import { resolve } from "#domain/normalize/Urls.ts"

/** FeedBurner replaces links by counted ones, and tells the originals. */
export const feedBurner: Vocabulary = {
  origlink: (element, draft, context) => {
    const address = getNonEmptyText(element)
    if (address !== undefined) draft.originalLink ??= resolve(enterElement(element, context).base, address)
  },
  origenclosurelink: (element, draft, context) => {
    const address = getNonEmptyText(element)
    if (address !== undefined) draft.fallbacks.enclosure ??= resolve(enterElement(element, context).base, address)
  },
  /** A sentence for people who open the feed in a browser. */
  browserfriendly: (element, draft, context) => {
    const info = readText(element, context, "text")
    if (info.value !== "") draft.info ??= info
  }
}
