import type { Element } from "@xmpp/xml"
import { Effect, FiberSet } from "effect"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { Hub } from "#actors/operations/Hub.ts"
import type { Component } from "./Component.ts"
import { PresenceTracker } from "./PresenceTracker.ts"
import * as Replies from "./Replies.ts"
import { maxIgnoredUnreadBytes } from "./RequestHandler.ts"

/** Maximum of JIDs whose paused subscriptions are resumed at once, and of JIDs that wait for that. */
const maxConcurrentResumes = 8
const maxResumes = 10_000

/**
 * Makes the handler of presence stanzas.
 *
 * The handler answers presence subscriptions and probes. When a JID comes online, its paused subscriptions resume.
 */
export const make = Effect.gen(function*() {
  const { resumeJid } = yield* Hub
  const run = yield* FiberSet.makeRuntime<never>()
  const tracker = new PresenceTracker()
  const resuming = new Set<string>()
  const resumes = new FifoSemaphore(maxConcurrentResumes)

  /** Forgets the JID after a failure, so that its next presence tries again. Has limits of its own, because many JIDs come online together. */
  const resume = (jid: string) => {
    if (resuming.size >= maxResumes) return tracker.forget(jid)
    resuming.add(jid)
    run(
      resumes.withPermit(resumeJid(jid)).pipe(
        Effect.map((done) => done ? undefined : tracker.forget(jid)),
        Effect.ensuring(Effect.sync(() => resuming.delete(jid)))
      )
    )
  }

  const handle = (component: Component, presence: Element): void => {
    const reply = Replies.answerPresence(presence)
    if (reply !== "" && component.unreadReplyBytes() <= maxIgnoredUnreadBytes) component.reply(reply)
    const jid = tracker.record(presence)
    if (jid !== undefined && !resuming.has(jid)) resume(jid)
  }
  return { handle, tracker }
})
