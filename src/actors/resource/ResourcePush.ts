import { Effect } from "effect"
import { hashBytes } from "#domain/Fingerprint.ts"
import { isItsOwnTopic } from "#domain/poll/HubLinks.ts"
import { interpretAnswer } from "#domain/poll/PollOutcome.ts"
import { type PollContext, stateAfter } from "#domain/poll/PollStep.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import type { PartitionContext, Push, State } from "./Resource.ts"
import { completePush, fetchInstead } from "./ResourceMailbox.ts"
import { inReadingRoom } from "./ReadingRoom.ts"
import { applyResult, examineDocument, type PollServices, recordPingOutcome } from "./ResourcePoll.ts"

/**
 * Treats a pushed document like the answer of a fetch, with the validators of the last fetch, which are the newest known ones.
 *
 * The resource is fetched instead when the document cannot be read or has another kind. Such a push is no error of the resource.
 */
export const applyPush = Effect.fnUntraced(
  function*(services: PollServices, state: State, push: Push, now: number, context: PartitionContext) {
    const before = state.resource
    const isForeign = push.byHub && (before.hasHubSubscribers === true || !isItsOwnTopic(before))
    if (push.document === undefined || isForeign) return fetchInstead(state, push, now)
    const { body, contentType } = push.document
    const answer: Fetched = {
      status: 200,
      headers: { "content-type": contentType, etag: before.etag, "last-modified": before.lastModified },
      body,
      signature: hashBytes(body),
      finalUrl: before.url
    }
    const at: PollContext = {
      now,
      trigger: "push",
      jitter: services.jitter(),
      ...(context.hubDirectory.isPushedByHub(before.id) ? services.boundsWhenPushed : services.bounds)
    }
    const step = interpretAnswer(before, answer, at)
    const isApplied = yield* inReadingRoom(
      services,
      before,
      answer,
      false,
      Effect.gen(function*() {
        const result = step._tag === "Read" || step._tag === "Select"
          ? yield* examineDocument(services, before, answer, step, at)
          : step
        const { failures, kind } = stateAfter(result)
        if (failures > 0 || kind !== before.kind) return false
        yield* applyResult(services, state, result, context)
        return true
      })
    )
    if (!isApplied) return fetchInstead(state, push, now)
    yield* recordPingOutcome(services, before, state, now)
    // Reported last: a fetch in flight may have found the same entries, and reported them as missed.
    if (push.byHub) yield* context.hubDirectory.reportPush(before.id)
    completePush(push)
  }
)
