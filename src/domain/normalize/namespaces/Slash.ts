import { readExtension } from "#domain/normalize/Extensions.ts"
import { getTrimmedText } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** Slashdot's module: number of comments, section and department. */
export const slash: Namespace = {
  key: "slash",
  uris: ["http://purl.org/rss/1.0/modules/slash"],
  vocabulary: {
    comments: (element, draft) => {
      const count = Number.parseInt(getTrimmedText(element), 10)
      if (count >= 0) draft.commentCount ??= count
    },
    section: readExtension("slash"),
    department: readExtension("slash"),
    hit_parade: readExtension("slash")
  }
}
