import type { Notification } from "#domain/delivery/Notification.ts"
import { renderAttribute } from "#domain/render/Xml.ts"
import { renderBriefStatus } from "./BriefStatus.ts"
import { countBytes, renderDocumentItem, renderEntryItem, type Style } from "./Items.ts"
import { ns } from "./Namespaces.ts"

/** Bytes of a stanza, at most: what servers take from a component without closing its stream, with room to spare. */
export const maxStanzaBytes = 256 * 1024

/** One notification on its way to one JID. */
export interface OutgoingMessage {
  readonly from: string
  readonly to: string
  /** Stable over retries, so that a receiver can tell a repetition. */
  readonly id: string
  /** As the subscriber wrote it. */
  readonly topic: string
  readonly notification: Notification
  readonly style: Style
}

/**
 * The messages that tell a subscriber: one as a rule, several when the entries do not fit into one.
 *
 * The order is what old clients expect: status first, then `items`, which are there even when there are none. Messages have no type: a server
 * keeps a normal one for somebody who is offline, and drops a headline in silence. They claim no language: without the empty attribute
 * Prosody says that all is English, and slixmpp 1.8 loses events of several items in any language.
 */
export const renderMessages = (letter: OutgoingMessage, limit = maxStanzaBytes): ReadonlyArray<string> => {
  const { from, id, notification, to, topic } = letter
  const status = renderBriefStatus({ ...notification.status, feed: topic }, letter.style.extNamespace)
  const after = `</items></event></message>`
  const opening = (part: number) =>
    `<message${renderAttribute("from", from)}${renderAttribute("to", to)}${
      renderAttribute("id", part === 1 ? id : `${id}-${part}`)
    } xml:lang="">` +
    `<event xmlns="${ns.event}">${status}<items${renderAttribute("node", topic)}>`
  const room = limit - countBytes(opening(1_000)) - countBytes(after)
  return pages(items(letter, room), room).map((content, page) => opening(page + 1) + content + after)
}

const items = ({ notification: { news }, style }: OutgoingMessage, room: number): ReadonlyArray<string> => {
  switch (news._tag) {
    case "Entries":
      return news.entries.map((entry) => renderEntryItem(entry, style, room))
    case "Document":
      return [renderDocumentItem(news.document, style, room)]
    case "Failure":
      return []
  }
}

/** As many items together as have room; at least one page, which may be empty. */
const pages = (items: ReadonlyArray<string>, room: number): ReadonlyArray<string> => {
  const full: Array<string> = []
  let page = ""
  let size = 0
  for (const item of items) {
    const more = countBytes(item)
    if (size > 0 && size + more > room) {
      full.push(page)
      page = ""
      size = 0
    }
    page += item
    size += more
  }
  return [...full, page]
}
