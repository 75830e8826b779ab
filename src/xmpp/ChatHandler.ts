import type { Element } from "@xmpp/xml"
import { Clock, Effect } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import * as Jid from "#domain/Jid.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { Component } from "./Component.ts"
import { copyText } from "./Elements.ts"
import * as Replies from "./Replies.ts"
import { maxIgnoredUnreadBytes } from "./RequestHandler.ts"

/** Time between two answers to one JID, in ms. */
const answerIntervalMs = 60_000

/** Maximum of JIDs that get an answer within `answerIntervalMs`. */
const maxAnsweredJids = 10_000

/**
 * Makes the handler of messages with a text, which people write from a chat client.
 *
 * Each JID gets one answer a minute. Rooms, headlines, servers and other components get none, so that two programs do not answer each other.
 */
export const make = Effect.gen(function*() {
  const { baseUrl } = yield* Settings
  const clock = yield* Clock.Clock
  const answered = new BoundedMap<string, number>(maxAnsweredJids)
  const text =
    "This is Windhover, which reads no chat messages: programs subscribe to URLs here with XMPP PubSub (XEP-0060), " +
    `or over HTTP as ${baseUrl}/docs describes.`

  return (component: Component, message: Element): void => {
    const sender = readSender(message)
    if (sender === undefined) return
    const now = clock.currentTimeMillisUnsafe()
    answered.dropOldestWhile((at) => now - at >= answerIntervalMs)
    if (answered.has(sender) || answered.size >= maxAnsweredJids) return
    if (component.unreadReplyBytes() > maxIgnoredUnreadBytes) return
    answered.set(copyText(sender), now)
    component.reply(Replies.answerChat(message, text))
  }
})

/** The bare JID of a person who wrote a text; undefined for any other message. */
const readSender = (message: Element): string | undefined => {
  const { from = "", type = "normal" } = message.attrs
  if (type !== "normal" && type !== "chat") return undefined
  if ((message.getChildText("body") ?? "").trim() === "") return undefined
  const jid = Jid.parse(from)
  return jid?.local === undefined ? undefined : Jid.bare(jid)
}
