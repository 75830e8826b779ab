import { Clock, Context, Effect, Layer, Option, Random, Result } from "effect"
import * as FetchLimiter from "#actors/limits/FetchLimiter.ts"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { Listeners } from "#actors/stream/Listeners.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import { logsDetails } from "#actors/runtime/DetailedLog.ts"
import { CurrentLiveFeed } from "#actors/runtime/LiveFeed.ts"
import { observe, pollLateness } from "#actors/runtime/Metrics.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { intervalBoundsOf, plannedFetch } from "#domain/poll/PollingInterval.ts"
import { conditionRefusalOf, requestOf } from "#domain/poll/PollRequest.ts"
import { eventsUrl, isEvents } from "#domain/EventsTopic.ts"
import { type ResourceState, withSubscribers } from "#domain/poll/Resource.ts"
import type { PollTrigger } from "#domain/poll/Status.ts"
import { DiskRoom } from "#domain/ports/DiskRoom.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { FeedReader } from "#domain/ports/FeedReader.ts"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { LanguageDetector } from "#domain/ports/LanguageDetector.ts"
import { NotificationTraces } from "#domain/ports/NotificationTraces.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Selector } from "#domain/ports/Selector.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import { type Message, type PartitionContext, ResourceBehavior, type State } from "./Resource.ts"
import { hasRead, pollEvents } from "./EventsPoll.ts"
import { announceFirst, keepFirstDocument } from "./FirstDocument.ts"
import { completeWaiting, dropAnnouncements, takeMessages } from "./ResourceMailbox.ts"
import {
  fetchResource,
  type PollServices,
  processResult,
  recordPingOutcome,
  refetch,
  writeSchedule
} from "./ResourcePoll.ts"
import { findPause, postpone } from "./ResourcePause.ts"
import { applyPush } from "./ResourcePush.ts"
import { lateAfterMs } from "./ResourceHealth.ts"

/** Draws the share of the period (0 up to 1) that spreads the polls; random unless set. Tests set a constant. */
export const Jitter = Context.Reference<(() => number) | undefined>("windhover/actors/resource/ResourceLayer/Jitter", {
  defaultValue: () => undefined
})

/** Shortest time between two fetches after pings of one resource, in ms. */
const pingSpacingMs = 1000

export const layer = Layer.effect(
  ResourceBehavior,
  Effect.gen(function*() {
    const settings = yield* Settings
    const random = yield* Random.Random
    const bounds = { ...intervalBoundsOf(settings), followMovedIds: settings.followMovedIds }
    const services: PollServices = {
      store: yield* ResourceStore,
      fetcher: yield* Fetcher,
      limiter: yield* FetchLimiter.make(settings.maxFetches),
      reader: yield* FeedReader,
      selector: yield* Selector,
      entries: yield* EntryStore,
      pings: yield* Pings,
      events: yield* EventLog,
      eventsUrl: eventsUrl(settings.baseUrl),
      languages: yield* LanguageDetector,
      live: yield* CurrentLiveFeed,
      notifyListeners: (yield* Listeners).notify,
      hasPornRank: settings.pornRank,
      logsPolls: yield* logsDetails,
      traces: yield* NotificationTraces,
      readingMemory: (yield* DocumentMemory).reading,
      strangersDocuments: new FifoSemaphore(1),
      diskRoom: yield* DiskRoom,
      ledger: yield* StrangersLedger,
      precedence: yield* Precedence,
      bounds,
      boundsWhenPushed: { ...bounds, pushedByHub: true },
      jitter: (yield* Jitter) ?? (() => random.nextDoubleUnsafe()),
      clock: yield* Clock.Clock
    }
    return ResourceBehavior.of({ run: (self, context) => run(services, self, context) })
  })
)

/**
 * The poll loop of a resource.
 *
 * Nearly all polls change nothing, so their path is short: an effect for each stage would cost more than the fetch. Plain functions decide
 * between the fetch and the record of its time; only rare steps are effects of their own.
 */
const run = Effect.fnUntraced(
  function*(services: PollServices, self: Self<State, Message>, context: PartitionContext) {
    const { clock } = services
    while (true) {
      const state = self.state ?? (yield* loadState(services, self, context))
      if (state === undefined) return undefined
      const { isHastened, needsReload } = takeMessages(self, state, clock.currentTimeMillisUnsafe())
      if (state.firstDocument !== undefined) yield* announceFirst(services, state, context)
      if (needsReload) yield* reload(services, state, context)
      if (isHastened) yield* writeSchedule(services, state.resource)
      self.pinned = state.pingedAt !== undefined || state.pushes.length > 0 || state.waitingForDocument.length > 0
      if (isEvents(state.resource.url)) {
        const next = yield* pollEvents(services, self, state, context)
        if (next === hasRead) continue
        return next
      }
      const now = clock.currentTimeMillisUnsafe()
      if (isPausedByKill(state.resource, now)) dropAnnouncements(state)
      const push = state.pushes.shift()
      if (push !== undefined) {
        yield* applyPush(services, state, push, now, context)
        continue
      }
      const trigger = findTrigger(state, now)
      // Subscribers that asked for the first document during its fetch have the document already.
      if (typeof trigger !== "string" && state.pingedAt === undefined) {
        completeWaiting(state)
        self.pinned = false
      }
      if (typeof trigger !== "string" || self.draining()) return typeof trigger === "string" ? undefined : trigger.at
      const pause = findPause(services, state.resource, now, context)
      if (pause !== undefined) {
        yield* postpone(services, state, pause, context)
        return pause.until
      }
      const next = yield* poll(services, self, state, trigger, context)
      if (next !== hasRead) return next
    }
  }
)

/**
 * Fetches the resource once, and records the result. While the host is busy, returns the time of the next try.
 *
 * The answer ends with this function. As a variable of the loop, it would live on during the next fetch, without room in the memory budget.
 */
const poll = Effect.fnUntraced(
  function*(
    services: PollServices,
    self: Self<State, Message>,
    state: State,
    trigger: PollTrigger,
    context: PartitionContext
  ) {
    const { bounds, boundsWhenPushed, clock, jitter } = services
    const now = clock.currentTimeMillisUnsafe()
    const { pingedAt, pushedByHub, resource: before } = state
    state.pushedByHub = false
    state.pingedAt = undefined // a ping during the fetch causes one more fetch
    const request = requestOf(before, now, pingedAt)
    const result = yield* fetchResource(services, before, request, now, context)
    if (typeof result === "number") {
      state.pingedAt = pingedAt
      state.pushedByHub = pushedByHub
      return result
    }
    const refusal = conditionRefusalOf(request, Result.merge(result))
    const answered = refusal === undefined ? result : yield* refetch(services, before, request, result, context)
    if (trigger !== "ping" && before.lastFetch !== undefined) {
      observe(pollLateness, Math.max(now - before.nextFetch, 0) / 1000)
    }
    const at = {
      now: clock.currentTimeMillisUnsafe(),
      trigger,
      requestedUrl: request.url,
      refusal,
      jitter: jitter(),
      ...(context.hubDirectory.isPushedByHub(self.id) ? boundsWhenPushed : bounds)
    }
    yield* processResult(services, state, answered, at, context, pushedByHub)
    if (before.signature === undefined) yield* keepFirstDocument(services, state, before, answered)
    if (pushedByHub) yield* context.hubDirectory.reportPush(self.id)
    if (pingedAt !== undefined) yield* recordPingOutcome(services, before, state, now)
    completeWaiting(state)
    return hasRead
  }
)

const loadState = Effect.fnUntraced(
  function*({ store }: PollServices, self: Self<State, Message>, { health, hubDirectory }: PartitionContext) {
    const stored = Option.getOrUndefined(yield* whenAvailable(store.load(self.id)))
    if (stored === undefined) return undefined
    const resource = resetFutureTimes(stored, yield* Clock.currentTimeMillis)
    health.note(resource)
    yield* hubDirectory.observe(resource)
    return self.state = {
      resource,
      entryCount: 0,
      pingedAt: undefined,
      pushedByHub: false,
      isRebasing: false,
      isPingedEarly: false,
      firstDocument: undefined,
      pushes: [],
      waitingForDocument: [],
      waitingForRefetch: []
    }
  }
)

/** Loads the changed subscriptions. */
const reload = Effect.fnUntraced(function*(
  { store }: PollServices,
  state: State,
  { health, hubDirectory }: PartitionContext
) {
  const resource = yield* whenAvailable(store.load(state.resource.id))
  if (Option.isNone(resource)) return
  state.resource = withSubscribers(state.resource, resource.value)
  health.note(state.resource)
  yield* hubDirectory.reload(state.resource)
})

/** Moves times of a clock that was ahead to now, so that polls and pings do not wait for these times. */
const resetFutureTimes = (resource: ResourceState, now: number): ResourceState => {
  const { lastFetch, nextFetch } = resource
  const planned = plannedFetch(nextFetch, now)
  if (planned === nextFetch && (lastFetch ?? 0) <= now) return resource
  return { ...resource, nextFetch: planned, ...(lastFetch !== undefined && { lastFetch: Math.min(lastFetch, now) }) }
}

/** Whether the resource pauses, because its last document was killed while it was read or selected. */
const isPausedByKill = ({ serverProfile }: ResourceState, now: number): boolean =>
  serverProfile?.killedUntil !== undefined && serverProfile.killedUntil > now

/** The reason to fetch now, or the time of the next check. A resource without subscribers is not polled. */
const findTrigger = (state: State, now: number): PollTrigger | { readonly at: number | undefined } => {
  const { lastFetch, nextFetch, subscribers } = state.resource
  if (isPausedByKill(state.resource, now)) return { at: subscribers === 0 ? undefined : Math.max(nextFetch, now + 1) }
  // The last document of a resource without subscribers is old, so a waiting subscriber gets a new one.
  if (state.waitingForDocument.length > 0 && (lastFetch === undefined || subscribers === 0)) return "ring"
  if (state.pingedAt !== undefined) {
    const earliest = (lastFetch ?? 0) + pingSpacingMs
    return earliest <= now ? "ping" : { at: earliest }
  }
  if (subscribers === 0) return { at: undefined }
  if (nextFetch > now) return { at: nextFetch }
  return now - nextFetch > lateAfterMs ? "late" : "ring"
}
