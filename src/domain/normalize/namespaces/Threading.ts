import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { defined } from "#domain/normalize/Draft.ts"
import { trimmed, value } from "#domain/normalize/xml/Element.ts"

/** Atom Threading (RFC 4685). */
export const threading: Vocabulary = {
  total: (element, draft) => {
    const count = Number.parseInt(trimmed(element), 10)
    if (count >= 0) draft.commentCount ??= count
  },
  "in-reply-to": (element, draft) => {
    const replies = draft.inReplyTo ??= []
    if (replies.length >= 20) return
    replies.push(defined({
      ref: value(element, "ref"),
      href: value(element, "href"),
      type: value(element, "type"),
      source: value(element, "source")
    }))
  }
}
