import type { Notification } from "#domain/delivery/Notification.ts"
import { renderAttribute } from "#domain/render/Xml.ts"
import { renderBriefStatus } from "./BriefStatus.ts"
import { countBytes, renderDocumentItem, renderEntryItem, type Style } from "./Items.ts"
import { ns } from "./Namespaces.ts"

/** Maximum of bytes in a stanza. Servers accept larger stanzas from a component, so the stream stays open. */
export const maxStanzaBytes = 256 * 1024

/** A notification for one JID. */
export interface OutgoingMessage {
  readonly from: string
  readonly to: string
  /** Stays the same over retries, so that a receiver can recognize a repetition. */
  readonly id: string
  /** The topic in the subscriber's spelling. */
  readonly topic: string
  readonly notification: Notification
  readonly style: Style
}

/**
 * Renders a notification as messages: one for each item, oldest first, or in the legacy style one for as many items as fit into a stanza.
 *
 * Several libraries read only the first item of a message, or loop over several ones. Old clients expect the order: first the status, then
 * `items`, even without an entry. Messages have no type, because a server stores a normal message for an offline account and drops a
 * headline. Messages have no language, because some libraries drop a message with an empty one.
 */
export const renderMessages = (message: OutgoingMessage, maxBytes = maxStanzaBytes): ReadonlyArray<string> => {
  const { from, id, notification, style, to, topic } = message
  const status = renderBriefStatus({ ...notification.status, feed: topic }, style.extNamespace)
  const closing = `</items></event></message>`
  const renderOpening = (part: number) =>
    `<message${renderAttribute("from", from)}${renderAttribute("to", to)}${
      renderAttribute("id", part === 1 ? id : `${id}-${part}`)
    }>` +
    `<event xmlns="${ns.event}">${status}<items${renderAttribute("node", topic)}>`
  const maxItemBytes = maxBytes - countBytes(renderOpening(1_000)) - countBytes(closing)
  const items = renderItems(message, maxItemBytes)
  // entries are newest first, but messages arrive in the order of publication, as in XEP-0060
  const pages = style.isLegacy === true || items.length === 0 ? paginate(items, maxItemBytes) : items.toReversed()
  return pages.map((content, page) => renderOpening(page + 1) + content + closing)
}

const renderItems = (
  { notification: { news }, style, topic }: OutgoingMessage,
  maxBytes: number
): ReadonlyArray<string> => {
  switch (news._tag) {
    case "Entries":
      return news.entries.map((entry) => renderEntryItem(entry, style, maxBytes))
    case "Document":
      return [renderDocumentItem(news.document, topic, style, maxBytes)]
    case "Failure":
      return []
  }
}

/** Fills each page with as many items as fit. Returns at least one page, which may be empty. */
const paginate = (items: ReadonlyArray<string>, maxBytes: number): ReadonlyArray<string> => {
  const fullPages: Array<string> = []
  let page = ""
  let size = 0
  for (const item of items) {
    const itemSize = countBytes(item)
    if (size > 0 && size + itemSize > maxBytes) {
      fullPages.push(page)
      page = ""
      size = 0
    }
    page += item
    size += itemSize
  }
  return [...fullPages, page]
}
