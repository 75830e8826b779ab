import { resolveIn } from "#domain/normalize/ElementContext.ts"
import { getNonEmptyText, readText } from "#domain/normalize/Texts.ts"
import type { Namespace } from "./Namespace.ts"

/** Original links behind the counted links of FeedBurner. */
export const feedBurner: Namespace = {
  key: "feedburner",
  uris: ["http://rssnamespace.org/feedburner/ext/1.0"],
  vocabulary: {
    origlink: (element, draft, context) => {
      const address = getNonEmptyText(element)
      if (address !== undefined) draft.originalLink ??= resolveIn(element, context, address)
    },
    origenclosurelink: (element, draft, context) => {
      const address = getNonEmptyText(element)
      if (address !== undefined) draft.fallbacks.enclosure ??= resolveIn(element, context, address)
    },
    /** A sentence for browsers. */
    browserfriendly: (element, draft, context) => {
      const info = readText(element, context, "text")
      if (info.value !== "") draft.info ??= info
    }
  }
}
