import { resolveIn } from "#domain/normalize/ElementContext.ts"
import { readExtension } from "#domain/normalize/Extensions.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import type { Namespace } from "./Namespace.ts"

/** The Comment API: the feed of an entry's comments, and the URL for new comments. */
export const wellFormedWeb: Namespace = {
  key: "wfw",
  uris: ["http://wellformedweb.org/commentapi"],
  vocabulary: {
    commentrss: (element, draft, context) => {
      const address = getNonEmptyText(element)
      if (address !== undefined) draft.commentsFeed ??= resolveIn(element, context, address)
    },
    comment: readExtension("wfw")
  }
}
