import type { Element } from "@xmpp/xml"
import { Effect, FiberSet } from "effect"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import * as Jid from "#domain/Jid.ts"
import type { Component } from "./Component.ts"
import * as Conditions from "./Conditions.ts"
import * as Operations from "./Operations.ts"
import * as Replies from "./Replies.ts"

/** Maximum of concurrent requests: of all senders, and of one bare JID. */
const maxRequests = 256
const maxRequestsPerJid = 32

/** Unread bytes of replies from which on requests are rejected. */
const maxUnreadBytes = 1024 * 1024

/** Unread bytes of replies from which on requests are ignored. */
export const maxIgnoredUnreadBytes = 2 * maxUnreadBytes

const tooManyRequests = Conditions.overloaded(
  "There are too many requests at once. Wait for the answers, then send more."
)

/** Makes the handler of iq stanzas of type get and set. `component` is called with the first stanza and later. */
export const make = Effect.gen(function*() {
  const answer = yield* Operations.make
  const run = yield* FiberSet.makeRuntime<never>()
  const requests = new KeyedCounter({ maxTotal: maxRequests, maxPerKey: maxRequestsPerJid })
  let isStalled = false

  /** Ignores requests while the server reads no replies. Rejections would only add to the unread bytes. */
  const stall = () => {
    if (isStalled) return
    isStalled = true
    run(Effect.logWarning("XMPP: the server does not read replies; requests are ignored until it does"))
  }

  return (component: Component, stanza: Element): void => {
    const { from: sender = "" } = stanza.attrs
    const jid = Jid.bareOf(sender) ?? sender
    const unreadBytes = component.unreadReplyBytes()
    if (unreadBytes > maxIgnoredUnreadBytes) return stall()
    if (unreadBytes === 0) isStalled = false
    if (unreadBytes > maxUnreadBytes || !requests.tryAdd(jid)) {
      return void component.reply(Replies.renderError(stanza, tooManyRequests))
    }
    run(
      answer(stanza).pipe(
        Effect.flatMap((reply) => sendReply(component, stanza, reply)),
        Effect.ensuring(Effect.sync(() => requests.remove(jid)))
      )
    )
  }
})

/** Sends the reply, or else an error with the problem. Logs a warning when not even the error can be sent. */
const sendReply = (component: Component, stanza: Element, reply: string) => {
  const problem = component.reply(reply)
  const errorProblem = problem === undefined
    ? undefined
    : component.reply(Replies.renderError(stanza, Conditions.unsendable(problem)))
  return errorProblem === undefined
    ? Effect.void
    : Effect.logWarning("XMPP: a request is not answered.").pipe(
      Effect.annotateLogs({ from: stanza.attrs["from"] ?? "", reason: errorProblem })
    )
}
