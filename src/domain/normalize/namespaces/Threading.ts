import { dropUndefined } from "#domain/normalize/Draft.ts"
import { getTrimmedText, getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** Atom Threading (RFC 4685). */
export const threading: Namespace = {
  key: "thr",
  uris: ["http://purl.org/syndication/thread/1.0"],
  vocabulary: {
    total: (element, draft) => {
      const count = Number.parseInt(getTrimmedText(element), 10)
      if (count >= 0) draft.commentCount ??= count
    },
    "in-reply-to": (element, draft) => {
      const replies = draft.inReplyTo ??= []
      if (replies.length >= 20) return
      replies.push(dropUndefined({
        ref: getValue(element, "ref"),
        href: getValue(element, "href"),
        type: getValue(element, "type"),
        source: getValue(element, "source")
      }))
    }
  }
}
