import { type Clock, Effect, Metric, Result } from "effect"
import type { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import type { FetchLimiter } from "#actors/limits/FetchLimiter.ts"
import type { Listeners } from "#actors/stream/Listeners.ts"
import { strangersKey } from "#actors/limits/HostThrottle.ts"
import { countPoll, entries, fetchDuration, observe } from "#actors/runtime/Metrics.ts"
import type { LiveFeed } from "#actors/runtime/LiveFeed.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { fetchRecordOf } from "#domain/poll/FetchRecord.ts"
import { isMaintenanceDue } from "#domain/poll/Maintenance.ts"
import { pingOutcomeOf } from "#domain/poll/PingOutcome.ts"
import { recordReading, recordSelection } from "#domain/poll/PollDocument.ts"
import { failFetch, failReading, failSelection } from "#domain/poll/PollFailure.ts"
import { wantsWhole } from "#domain/poll/PollFeed.ts"
import type { IntervalBounds } from "#domain/poll/PollingInterval.ts"
import { withoutConditions } from "#domain/poll/PollRequest.ts"
import { finish, interpretAnswer } from "#domain/poll/PollOutcome.ts"
import {
  countEntries,
  keepsBody,
  newEntriesOf,
  type PollContext,
  type PollResult,
  type PollStep,
  stateAfter
} from "#domain/poll/PollStep.ts"
import { maxRankedEntries, pornRank } from "#domain/poll/PornRank.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { resourceEvents } from "#domain/poll/ResourceEvents.ts"
import { refusalEnd } from "#domain/poll/RetryAfter.ts"
import { workerTurnOf } from "#domain/poll/WorkerTurn.ts"
import type { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import type { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import type { StrangerLedger } from "#domain/limits/StrangerLedger.ts"
import type { EntryStore } from "#domain/ports/EntryStore.ts"
import type { EventLog } from "#domain/ports/EventLog.ts"
import type { FeedReader, ReadOptions } from "#domain/ports/FeedReader.ts"
import type { Fetched, Fetcher, FetchError, FetchRequest } from "#domain/ports/Fetcher.ts"
import type { LanguageDetector } from "#domain/ports/LanguageDetector.ts"
import type { NotificationTracer } from "#domain/ports/NotificationTraces.ts"
import type { Pings } from "#domain/ports/Pings.ts"
import type { PollWrite, ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { Selector } from "#domain/ports/Selector.ts"
import { addLanguages } from "./EntryLanguages.ts"
import { inReadingRoom } from "./ReadingRoom.ts"
import type { PartitionContext, State } from "./Resource.ts"
import { recordStrangersFetch } from "./StrangersFetches.ts"

/** Services and settings of the runner for a poll. */
export interface PollServices {
  readonly store: ResourceStore["Service"]
  readonly fetcher: Fetcher["Service"]
  readonly limiter: FetchLimiter
  readonly reader: FeedReader["Service"]
  readonly selector: Selector["Service"]
  readonly entries: EntryStore["Service"]
  readonly pings: Pings["Service"]
  readonly events: EventLog["Service"]
  /** The topic of events. */
  readonly eventsUrl: string
  readonly languages: typeof LanguageDetector["Service"]
  readonly live: LiveFeed
  readonly notifyListeners: Listeners["Service"]["notify"]
  readonly hasPornRank: boolean
  /** Logs each poll at the level `debug`. A call of a disabled log would cost each poll. */
  readonly logsPolls: boolean
  readonly traces: NotificationTracer | undefined
  /** Memory of the copies of large documents. */
  readonly readingMemory: MemoryBudget
  readonly strangersDocuments: FifoSemaphore
  readonly diskRoom: { readonly forStrangers: () => boolean }
  readonly ledger: StrangerLedger
  readonly precedence: AccountPrecedence
  readonly bounds: IntervalBounds & { readonly followMovedIds: boolean }
  /** Bounds of a resource that its hub pushes. */
  readonly boundsWhenPushed: IntervalBounds & { readonly followMovedIds: boolean }
  readonly jitter: () => number
  readonly clock: Clock.Clock
}

/** Fetches the resource. While the host is busy, returns the time of the next try instead. */
export const fetchResource = (
  { clock, fetcher, limiter }: PollServices,
  resource: ResourceState,
  request: FetchRequest,
  now: number,
  { health, hostThrottle, wakeResource }: PartitionContext
) => {
  let wait = 1
  let startedAt: number | undefined
  const fetch = Effect.suspend(() => {
    startedAt = clock.currentTimeMillisUnsafe()
    return fetcher.fetch(resource.strangersOnly === true ? { ...request, strangersOnly: true } : request)
  })
  return Effect.suspend((): Effect.Effect<number | Result.Result<Fetched, FetchError>> => {
    wait = hostThrottle.enter(resource.host, resource.id, now)
    if (wait === 0) health.noteStart(resource.id)
    else health.noteWait(resource.id, Math.min(resource.nextFetch, now))
    return wait === 0 ? Effect.result(limiter.run(fetch)) : Effect.succeed(wait)
  }).pipe(
    Effect.onExit(() => {
      const endedAt = clock.currentTimeMillisUnsafe()
      if (startedAt !== undefined) observe(fetchDuration, (endedAt - startedAt) / 1000)
      const waiting = wait === 0 ? hostThrottle.leave(resource.host, endedAt) : noResources
      return waiting.length === 0 ? Effect.void : Effect.forEach(waiting, wakeResource, { discard: true })
    })
  )
}

/** Fetches again without conditions. While the host is busy, the failure of the conditional request counts. */
export const refetch = Effect.fnUntraced(
  function*(
    services: PollServices,
    resource: ResourceState,
    request: FetchRequest,
    failed: Result.Result<Fetched, FetchError>,
    context: PartitionContext
  ) {
    const now = services.clock.currentTimeMillisUnsafe()
    const result = yield* fetchResource(services, resource, withoutConditions(request), now, context)
    return typeof result === "number" ? failed : result
  }
)

const noResources: ReadonlyArray<number> = []

/** Records the result of a fetch, pauses the host where the answer asks for a pause, and informs the hub subscription. */
export const processResult = (
  services: PollServices,
  state: State,
  result: Result.Result<Fetched, FetchError>,
  at: PollContext,
  context: PartitionContext,
  pushedByHub: boolean
): Effect.Effect<void> => {
  const { resource } = state
  if (resource.strangersOnly === true) recordStrangersFetch(services, resource, result, at.now)
  if (Result.isFailure(result)) {
    return applyResult(services, state, finish(failFetch(resource, result.failure, at), undefined, at), context)
  }
  const answer = result.success
  const until = refusalEnd(answer, at.now)
  // After a redirect, the refusal concerns the host of the final URL.
  const refusal = until === undefined || until <= at.now
    ? undefined
    : context.refuse({ resourceId: resource.id, host: pauseKeyOf(resource, answer), since: at.now, until })
  const step = interpretAnswer(resource, answer, at)
  if (step._tag === "Read" || step._tag === "Select") {
    const examined = inReadingRoom(
      services,
      resource,
      answer,
      state.waitingForDocument.length > 0,
      Effect.flatMap(
        examineDocument(services, resource, answer, step, at),
        (examined) =>
          Effect.andThen(
            finishPoll(services, state, examined, answer, at, context),
            informHub(examined, context, pushedByHub)
          )
      )
    )
    const { returnRoom } = answer
    return returnRoom === undefined ? examined : Effect.ensuring(examined, Effect.sync(returnRoom))
  }
  // Nothing of the body is stored, or an error page of at most 64 KiB.
  answer.returnRoom?.()
  const finished = finishPoll(services, state, step, answer, at, context)
  return refusal === undefined ? finished : Effect.andThen(finished, refusal)
}

/** The key of the pause that an answer asks for. */
const pauseKeyOf = ({ strangersOnly }: ResourceState, { finalUrl }: Fetched): string => {
  const { hostname } = new URL(finalUrl)
  return strangersOnly === true ? strangersKey(hostname) : hostname
}

/** Releases the body unless the result needs it, and applies the final result. */
const finishPoll = (
  services: PollServices,
  state: State,
  result: PollResult,
  answer: Fetched,
  at: PollContext,
  context: PartitionContext
): Effect.Effect<void> => {
  if (!keepsBody(result)) {
    answer.release?.()
    answer.returnRoom?.()
  }
  return services.hasPornRank && isMaintenanceDue(stateAfter(result), at.now)
    ? Effect.flatMap(
      rank(services, result),
      (pornRank) => applyResult(services, state, finish(result, answer, at, pornRank), context)
    )
    : applyResult(services, state, finish(result, answer, at), context)
}

/** Reads the document, and selects in the document where the topic has a fragment. */
export const examineDocument = Effect.fnUntraced(
  function*(
    services: PollServices,
    resource: ResourceState,
    answer: Fetched,
    first: Exclude<PollStep, PollResult>,
    at: PollContext
  ) {
    const step = first._tag === "Read" ? yield* readDocument(services, resource, answer, first.options, at) : first
    return step._tag === "Select" ? yield* select(services, resource, answer, step, at) : step
  }
)

/** Reads the new parts of the document, or the whole document where the parts do not suffice. */
const readDocument = Effect.fnUntraced(
  function*({ reader }: PollServices, resource: ResourceState, answer: Fetched, options: ReadOptions, at: PollContext) {
    const turn = workerTurnOf(resource)
    const part = yield* reader.read(answer.body, options, turn)
    if (!wantsWhole(resource, part)) return recordReading(resource, answer, part, at)
    const { seenSlices: _, ...whole } = options
    return recordReading(resource, answer, yield* reader.read(answer.body, whole, turn), at)
  },
  (step, _, resource, answer, __, at) =>
    Effect.catchTag(step, "ReaderError", (error) => Effect.succeed(failReading(resource, answer, error, at)))
)

const select = (
  { selector }: PollServices,
  resource: ResourceState,
  answer: Fetched,
  step: Extract<PollStep, { _tag: "Select" }>,
  at: PollContext
) =>
  selector.select({
    fragment: step.fragment,
    syntax: step.syntax,
    bytes: answer.body,
    contentType: answer.headers["content-type"],
    turn: workerTurnOf(resource)
  }).pipe(
    Effect.map((selection) => recordSelection(resource, answer, selection, step, at)),
    Effect.catchTag("SelectorError", (error) => Effect.succeed(failSelection(resource, answer, error, at)))
  )

/** Ranks the resource by its newest entries: those of this result first, then the stored ones. */
const rank = Effect.fnUntraced(function*({ entries }: PollServices, result: PollResult) {
  const { header, host, id } = stateAfter(result)
  const stored = yield* entries.page({ resourceIds: [id], count: maxRankedEntries }).pipe(
    Effect.map((page) => page._tag === "Page" ? page.entries.map(({ entry }) => entry) : []),
    Effect.catchTag("StoreError", () => Effect.succeed([]))
  )
  return pornRank(header, [...newEntriesOf(result), ...stored], host)
})

/** Writes a change with its notification, or moves the schedule only. */
export const applyResult = (
  services: PollServices,
  state: State,
  result: PollResult,
  context: PartitionContext
): Effect.Effect<void> => {
  if (state.isRebasing) result = rebase(state, result)
  state.entryCount = countEntries(result)
  if (services.logsPolls) return Effect.andThen(logPoll(result), applyUnlogged(services, state, result, context))
  return applyUnlogged(services, state, result, context)
}

const logPoll = (result: PollResult): Effect.Effect<void> => {
  const { code, failures, host, http, id, nextFetch } = stateAfter(result)
  return Effect.logDebug("A resource was polled.").pipe(Effect.annotateLogs({
    resource: id,
    host,
    code: code ?? 0,
    status: http ?? "",
    failures,
    entries: countEntries(result),
    next: new Date(nextFetch).toISOString()
  }))
}

const applyUnlogged = (
  services: PollServices,
  state: State,
  result: PollResult,
  context: PartitionContext
): Effect.Effect<void> => {
  if (result._tag === "Changed") {
    const publishing = publishEvents(services, state.resource, result.change.state)
    const recorded = record(services, state, result.change, context)
    return publishing === undefined ? recorded : Effect.andThen(recorded, publishing)
  }
  state.resource = result.state
  context.health.note(result.state)
  return Effect.andThen(
    countPoll(result.state.failures > 0 ? "failed" : "unchanged"),
    writeSchedule(services, result.state)
  )
}

/** Publishes the events of a change; undefined without any. Each of them comes with a change, because it moves the code or the redirect. */
const publishEvents = ({ events }: PollServices, before: ResourceState, after: ResourceState) => {
  const found = resourceEvents(before, after)
  return found.length === 0 ? undefined : Effect.forEach(found, events.publish, { discard: true })
}

/** The result without its announcement. The first success is the baseline. */
const rebase = (state: State, result: PollResult): PollResult => {
  if (stateAfter(result).failures > 0) return result
  state.isRebasing = false
  if (result._tag === "Unchanged" || result.change.announce === undefined) return result
  const { announce, wholeFeed: _, ...silent } = result.change
  const document = announce._tag === "Document" ? { document: announce.document } : {}
  return { _tag: "Changed", change: { ...silent, ...document, announce: undefined } }
}

/** Writes the row before the deliveries start. After a crash in between, the outbox holds the deliveries. */
const record = Effect.fnUntraced(
  function*(services: PollServices, state: State, found: PollWrite, context: PartitionContext) {
    const hasEntries = found.entries.length + found.updated.length > 0
    const change = hasEntries ? yield* addLanguages(services.languages, found) : found
    const write = state.waitingForDocument.length === 0 ? change : { ...change, mayWait: false }
    const deliveries = yield* whenAvailable(Effect.andThen(context.awaitLease, services.store.record(write)))
    state.resource = change.state
    context.health.note(change.state)
    if (services.live.isWatched) publishFetch(services.live, change)
    if (hasEntries) yield* Metric.update(entries, change.entries.length + change.updated.length)
    if (change.announce !== undefined) yield* services.notifyListeners(state.resource.id)
    const [first] = deliveries
    if (services.traces !== undefined && first !== undefined) tracePoll(services.traces, services.clock, change, first)
    yield* Effect.forEach(deliveries, context.deliver, { discard: true })
    yield* countPoll(change.state.failures > 0 ? "failed" : "changed")
  }
)

const tracePoll = (traces: NotificationTracer, clock: Clock.Clock, { state }: PollWrite, delivery: Delivery): void => {
  const endedAt = clock.currentTimeMillisUnsafe()
  const { id, resourceId } = delivery.notification
  const startedAt = Math.min(state.lastFetch ?? endedAt, endedAt)
  traces.recordPoll({ notification: id, resource: resourceId, startedAt, endedAt })
}

/** Shows the fetch on the open pages. */
const publishFetch = (live: LiveFeed, change: PollWrite): void => {
  const fetch = fetchRecordOf(change)
  if (fetch === undefined) return
  const { at, code, failures, news } = fetch
  const { id, url } = change.state
  live.publish({ _tag: "Fetch", at, resourceId: id, url, code, news, failures })
}

/** Keeps the schedule for the bulk write. The next owner of the partition then polls neither hours late nor too soon. */
export const writeSchedule = (
  { store }: PollServices,
  { code, failures, id, lastFetch, nextFetch, period }: ResourceState
) => store.touch({ id, nextFetch, lastFetch: lastFetch ?? nextFetch, period, code: code ?? 0, failures })

/** Tells the hub directory the links of a read document, and the entries that the hub has not pushed. */
const informHub = (result: PollResult, { hubDirectory }: PartitionContext, pushedByHub: boolean) => {
  if (result._tag === "Unchanged" || stateAfter(result).failures > 0) return Effect.void
  const { announce, state: resource } = result.change
  const count = announce?._tag === "Entries" ? announce.ids.length : announce?._tag === "Document" ? 1 : 0
  return count === 0 || pushedByHub
    ? hubDirectory.observe(resource)
    : Effect.andThen(hubDirectory.observe(resource), hubDirectory.reportPolledEntries(resource.id, count))
}

/** Records the outcome of the pings before `until` (epoch ms). */
export const recordPingOutcome = (
  { pings }: PollServices,
  before: ResourceState,
  { entryCount, resource: after }: State,
  until: number
) => pings.resolve(after.id, until, pingOutcomeOf(before, after, entryCount))
