import { Effect } from "effect"
import type { Self } from "#actors/runtime/Actor.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import type { LoggedEvent } from "#domain/Event.ts"
import { accountOfEvents } from "#domain/EventsTopic.ts"
import type { PollResult } from "#domain/poll/PollStep.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { describeFetch } from "#domain/poll/Status.ts"
import { maxEvents } from "#domain/ports/EventLog.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import { eventEntry, eventsHeader } from "#domain/render/EventEntry.ts"
import type { Message, PartitionContext, State } from "./Resource.ts"
import { completeWaiting } from "./ResourceMailbox.ts"
import { applyResult, type PollServices } from "./ResourcePoll.ts"

/** Time between two looks at the log, in seconds. New events cause a look at once; this one finds the events of a lost wake-up. */
const periodSeconds = 300

/** Events of one notification. */
const maxEntries = 100

/** Marks that the log was read once. */
const readSignature = 1n

/** Result of a look: the mailbox may have further messages. */
export const hasRead = Symbol("has read")

/**
 * Reads the events of a resource of events from their log, in place of a fetch. Returns the time of the next look when none is due.
 *
 * The first look stores the past events as the baseline, without a notification. The id of the last event is the validator.
 */
export const pollEvents = Effect.fnUntraced(
  function*(services: PollServices, self: Self<State, Message>, state: State, context: PartitionContext) {
    const now = services.clock.currentTimeMillisUnsafe()
    const { lastFetch, nextFetch, subscribers } = state.resource
    const isDue = state.pingedAt !== undefined || lastFetch === undefined || nextFetch <= now
    if (state.waitingForDocument.length === 0 && (subscribers === 0 || !isDue)) {
      state.pingedAt = undefined
      self.pinned = false
      return subscribers === 0 ? undefined : nextFetch
    }
    if (self.draining()) return undefined
    yield* readEvents(services, state, now, context)
    completeWaiting(state)
    return hasRead
  }
)

const readEvents = Effect.fnUntraced(
  function*(services: PollServices, state: State, now: number, context: PartitionContext) {
    const { events, eventsUrl } = services
    const trigger = state.pingedAt === undefined ? "ring" : "ping"
    state.pingedAt = undefined
    const account = accountOfEvents(state.resource.url)
    const isFirst = state.resource.signature === undefined
    const isSilent = isFirst || state.isRebasing
    while (true) {
      const after = Number(state.resource.etag ?? "0")
      const found = yield* whenAvailable(
        isFirst ? events.readNewest(account, maxEvents.account) : events.readAfter(account, after, maxEntries)
      )
      const http = describeFetch(trigger, 200, periodSeconds, `parsed ${found.length}/${found.length} entries`)
      const next: ResourceState = {
        ...state.resource,
        code: 200,
        failures: 0,
        period: periodSeconds,
        lastFetch: now,
        nextFetch: now + periodSeconds * 1000
      }
      const result: PollResult = found.length === 0 && !isFirst
        ? { _tag: "Unchanged", state: next }
        : { _tag: "Changed", change: changeOf({ ...next, http, lastParse: now }, found, eventsUrl, isSilent) }
      yield* applyResult(services, state, result, context)
      if (isFirst || found.length < maxEntries) return
    }
  }
)

/** Events as entries. Events of the first look, and of a time without subscribers, are silent. */
const changeOf = (
  next: ResourceState,
  found: ReadonlyArray<LoggedEvent>,
  url: string,
  isSilent: boolean
): PollWrite => {
  const entries = found.map((event) => eventEntry(event, url))
  const last = found.at(-1)
  return {
    state: {
      ...next,
      kind: "feed",
      signature: readSignature,
      header: { ...eventsHeader(url), ...(last !== undefined && { updated: last.at }) },
      etag: last === undefined ? next.etag ?? "0" : String(last.id)
    },
    entries,
    updated: [],
    announce: isSilent ? undefined : { _tag: "Entries", ids: entries.map(({ id }) => id).toReversed() }
  }
}
