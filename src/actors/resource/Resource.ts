import { Clock, Context, Deferred, Effect, Layer, Option, Random, Result } from "effect"
import { isItsOwnTopic } from "#domain/poll/HubLinks.ts"
import { ofBytes } from "#domain/Fingerprint.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { pingOutcomeOf } from "#domain/poll/PingOutcome.ts"
import {
  answered,
  broughtBy,
  countOf,
  heldBack,
  holdOff,
  isStepMaintenanceDue,
  keepsBody,
  type PollContext,
  type PollResult,
  type PollStep,
  read,
  request,
  selected,
  stateAfter,
  unanswered,
  unreadable,
  unselectable,
  wantsWhole,
  withMaintenance,
  withMoved
} from "#domain/poll/Poll.ts"
import { intervalBoundsOf, plannedFetch } from "#domain/poll/PollingInterval.ts"
import { maxRankedEntries, pornRank } from "#domain/poll/PornRank.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import type { HostPause } from "#domain/ports/HostPauses.ts"
import { FeedReader, type ReadOptions } from "#domain/ports/FeedReader.ts"
import { type Fetched, Fetcher, type FetchError, type FetchRequest } from "#domain/ports/Fetcher.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { type PollWrite, ResourceStore } from "#domain/ports/ResourceStore.ts"
import { Selector } from "#domain/ports/Selector.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type ResourceState, withSubscribers } from "#domain/poll/Resource.ts"
import type { PollTrigger } from "#domain/poll/Status.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import type { HubDirectory } from "./HubDirectory.ts"
import * as FetchLimiter from "#actors/limits/FetchLimiter.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import type { HostThrottle } from "#actors/limits/HostThrottle.ts"
import { Listeners } from "#actors/operations/Listeners.ts"
import { countPoll } from "#actors/runtime/Metrics.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"

/**
 * `Poll`: the alarm. `Ping`: a publisher says that there is news, or its hub. `Reload`: its subscriptions have changed.
 * `Sooner`: no hub pushes any more what it was relied on for, so that it is polled at `at` (epoch ms) at the latest. `FirstFetch`: somebody waits for the first document, or for the present one
 * of a resource that nobody watched.
 */
export type Message =
  | { readonly _tag: "Poll" }
  | { readonly _tag: "Ping"; readonly byHub?: boolean }
  | Push
  | { readonly _tag: "Sooner"; readonly at: number }
  | { readonly _tag: "Reload" }
  | FirstFetch

/** Somebody waits for a document; false at once: too many do. */
export interface FirstFetch {
  readonly _tag: "FirstFetch"
  readonly done: Deferred.Deferred<boolean>
}

/** Its publisher sent the document itself, or a hub did. */
export interface Push {
  readonly _tag: "Push"
  /** Undefined: nobody waits for it any more, and it need not be kept. It is fetched instead. */
  document: PushedDocument | undefined
  readonly byHub: boolean
  /** When what is new in it is stored, or it will be fetched instead. */
  readonly done: Deferred.Deferred<boolean>
}

export const poll: Message = { _tag: "Poll" }
export const ping: Message = { _tag: "Ping" }

export interface State {
  resource: ResourceState
  /** Entries, new and updated, of the last answer. */
  entryCount: number
  /** When the last ping came that no fetch has answered yet, epoch ms. */
  pingedAt: number | undefined
  /** What the fetch for that ping finds, a hub has pushed. */
  pushedByHub: boolean
  /** Documents that were pushed, oldest first; bounded. */
  readonly pushes: Array<Push>
  /** Who waits for a document; it is fetched for them at once. */
  readonly waitingForDocument: Array<Deferred.Deferred<boolean>>
  /** Who waits for the fetch that comes instead of a push, in its time as for a ping. */
  readonly waitingForRefetch: Array<Deferred.Deferred<boolean>>
}

/** Alarms, pings and reloads that wait say the same as one of them. */
export const join = (waiting: Array<Message>, message: Message): void => {
  if (message._tag === "FirstFetch" && waiting.length >= maxWaiting) return refuse(message)
  if (message._tag === "Push" && waiting.length >= maxPushed) {
    release(message)
    message = { _tag: "Ping", byHub: message.byHub }
  }
  const at = waiting.findIndex(({ _tag }) => _tag === message._tag)
  if (message._tag === "FirstFetch" || message._tag === "Push" || at < 0) waiting.push(message)
  else if (message._tag === "Ping" && message.byHub === true) waiting[at] = message
}

/** Whoever waits for the end of a push need not any more. */
const release = ({ done }: Push): void => void Deferred.doneUnsafe(done, Effect.succeed(true))

const refuse = ({ done }: FirstFetch): void => void Deferred.doneUnsafe(done, Effect.succeed(false))

/** The hub waits for that fetch as it would for the push; where many wait, one that will come is enough. */
const fetchInstead = (state: State, push: Push, now: number): void => {
  state.pingedAt = now
  push.document = undefined
  if (push.byHub) state.pushedByHub = true
  if (push.byHub && state.waitingForRefetch.length < maxPushed) state.waitingForRefetch.push(push.done)
  else release(push)
}

const answerWaiting = ({ waitingForRefetch, waitingForDocument }: State): void => {
  if (waitingForDocument.length === 0 && waitingForRefetch.length === 0) return
  for (const done of [...waitingForDocument.splice(0), ...waitingForRefetch.splice(0)]) {
    Deferred.doneUnsafe(done, Effect.succeed(true))
  }
}

/** Those who have given up count no more. */
const attend = (state: State, message: FirstFetch): void => {
  if (state.waitingForDocument.length >= maxWaiting) {
    state.waitingForDocument.splice(
      0,
      maxWaiting,
      ...state.waitingForDocument.filter((done) => !Deferred.isDoneUnsafe(done))
    )
  }
  if (state.waitingForDocument.length >= maxWaiting) refuse(message)
  else state.waitingForDocument.push(message.done)
}

/** Who waits for a document of one resource at once. */
const maxWaiting = 256

/** Documents and messages that wait, from which on a pushed document is not kept: it is fetched instead. */
const maxPushed = 8

/** Draws a share of the period, 0 up to 1, that is added to spread polls; undefined: any. Tests set it to nothing. */
export const Jitter = Context.Reference<(() => number) | undefined>("windhover/actors/resource/Resource/Jitter", {
  defaultValue: () => undefined
})

/** Pings of one resource are answered with a fetch not more often than this, in ms. */
const pingSpacing = 1000

/** An alarm that rings so many ms after its time is `late`. */
const lateness = 60_000

/** What a resource needs of its partition. */
export interface PartitionContext {
  readonly hostThrottle: HostThrottle
  /** A host asked to be left alone. */
  readonly pauseHost: (pause: HostPause) => Effect.Effect<void>
  /** Wakes a resource whose turn it is. */
  readonly wakeResource: (id: number) => Effect.Effect<void>
  readonly deliver: (delivery: Delivery) => Effect.Effect<void>
  /** Returns when no other runner can have the partition. */
  readonly awaitLease: Effect.Effect<void>
  readonly hubDirectory: HubDirectory
}

export class ResourceBehavior extends Context.Service<ResourceBehavior, {
  /** Fetches when it is due, and tells what is new; returns when it is due again. */
  readonly run: (self: Self<State, Message>, around: PartitionContext) => Effect.Effect<number | undefined>
}>()("windhover/actors/resource/Resource/ResourceBehavior") {}

export const layer = Layer.effect(
  ResourceBehavior,
  Effect.gen(function*() {
    const store = yield* ResourceStore
    const fetcher = yield* Fetcher
    const pings = yield* Pings
    const reader = yield* FeedReader
    const selector = yield* Selector
    const entries = yield* EntryStore
    const settings = yield* Settings
    const { tell } = yield* Listeners
    const bounds = { ...intervalBoundsOf(settings), followMovedIds: settings.followMovedIds }
    const boundsWhenPushed = { ...bounds, pushedByHub: true }
    const places = yield* FetchLimiter.make(settings.maxFetches)
    const random = yield* Random.Random
    const jitter = (yield* Jitter) ?? (() => random.nextDoubleUnsafe())
    const clock = yield* Clock.Clock

    const loaded = Effect.fnUntraced(function*(self: Self<State, Message>, { hubDirectory }: PartitionContext) {
      const stored = Option.getOrUndefined(yield* whenAvailable(store.load(self.id)))
      if (stored === undefined) return undefined
      const resource = rightInTime(stored, yield* Clock.currentTimeMillis)
      yield* hubDirectory.observe(resource)
      return self.state = {
        resource,
        entryCount: 0,
        pingedAt: undefined,
        pushedByHub: false,
        pushes: [],
        waitingForDocument: [],
        waitingForRefetch: []
      }
    })

    /** Its subscriptions have changed. */
    const reloaded = Effect.fnUntraced(function*(state: State, { hubDirectory }: PartitionContext) {
      const resource = yield* whenAvailable(store.load(state.resource.id))
      if (Option.isNone(resource)) return
      state.resource = withSubscribers(state.resource, resource.value)
      yield* hubDirectory.reload(state.resource)
    })

    /** Written lazily. The row as well, so that the next owner neither sleeps for hours nor comes too soon. */
    const write = ({ code, failures, id, lastFetch, nextFetch, period }: ResourceState) =>
      store.touch({ id, nextFetch, lastFetch: lastFetch ?? nextFetch, period, code: code ?? 0, failures })

    /** When it is not the turn of this resource: the time at which to look again. */
    const get = (
      resource: ResourceState,
      wanted: FetchRequest,
      now: number,
      { wakeResource, hostThrottle }: PartitionContext
    ) => {
      let wait = 1
      return Effect.suspend((): Effect.Effect<number | Result.Result<Fetched, FetchError>> => {
        wait = hostThrottle.enter(resource.host, resource.id, now)
        return wait === 0 ? Effect.result(places.run(fetcher.fetch(wanted))) : Effect.succeed(wait)
      }).pipe(
        Effect.onExit(() => {
          const called = wait === 0 ? hostThrottle.leave(resource.host, clock.currentTimeMillisUnsafe()) : nobody
          return called.length === 0 ? Effect.void : Effect.forEach(called, wakeResource, { discard: true })
        })
      )
    }

    /** Reads what is new in the document, or all of it where that does not suffice. */
    const readDocument = Effect.fnUntraced(
      function*(resource: ResourceState, answer: Fetched, options: ReadOptions, at: PollContext) {
        const part = yield* reader.read(answer.body, options)
        if (!wantsWhole(resource, part)) return read(resource, answer, part, at)
        const { seenSlices: _, ...whole } = options
        return read(resource, answer, yield* reader.read(answer.body, whole), at)
      },
      (step, resource, answer, _, at) =>
        Effect.catchTag(step, "ReaderError", (error) => Effect.succeed(unreadable(resource, answer, error, at)))
    )

    const select = (resource: ResourceState, answer: Fetched, step: Select, at: PollContext) =>
      selector.select({
        fragment: step.fragment,
        syntax: step.syntax,
        bytes: answer.body,
        contentType: answer.headers["content-type"]
      }).pipe(
        Effect.map((selection) => selected(resource, answer, selection, step, at)),
        Effect.catchTag("SelectorError", (error) => Effect.succeed(unselectable(resource, answer, error, at)))
      )

    /** The row first, then the subscriptions: if nobody hears, the row speaks later. */
    const record = Effect.fnUntraced(function*(state: State, change: PollWrite, around: PartitionContext) {
      const deliveries = yield* whenAvailable(Effect.andThen(around.awaitLease, store.record(change)))
      state.resource = change.state
      if (change.announce !== undefined) yield* tell(state.resource.id)
      yield* Effect.forEach(deliveries, around.deliver, { discard: true })
      yield* countPoll(change.state.failures > 0 ? "failed" : "changed")
    })

    /** An unchanged poll. */
    const touch = (state: State, next: ResourceState) => {
      state.resource = next
      return Effect.andThen(countPoll(next.failures > 0 ? "failed" : "unchanged"), write(next))
    }

    const perform = (state: State, step: PollResult, around: PartitionContext): Effect.Effect<void> => {
      state.entryCount = countOf(step)
      return step._tag === "Quiet" ? touch(state, step.state) : record(state, step.change, around)
    }

    /** What is in the document. */
    const looked = Effect.fnUntraced(
      function*(resource: ResourceState, answer: Fetched, first: Exclude<PollStep, PollResult>, at: PollContext) {
        const step = first._tag === "Read" ? yield* readDocument(resource, answer, first.options, at) : first
        return step._tag === "Select" ? yield* select(resource, answer, step, at) : step
      }
    )

    /** By the newest entries, those of this very step first. Of what is no feed there is nothing to judge. */
    const ranked = Effect.fnUntraced(function*(step: PollResult) {
      const { header, host, id } = stateAfter(step)
      const stored = yield* entries.page({ resourceIds: [id], count: maxRankedEntries }).pipe(
        Effect.map((page) => page._tag === "Page" ? page.entries.map(({ entry }) => entry) : []),
        Effect.catchTag("StoreError", () => Effect.succeed([]))
      )
      return pornRank(header, [...broughtBy(step), ...stored], host)
    })

    /** What an answer, or that there was none, comes to. */
    const conclude = (
      state: State,
      result: Result.Result<Fetched, FetchError>,
      at: PollContext,
      around: PartitionContext,
      pushedByHub: boolean
    ): Effect.Effect<void> => {
      const { resource } = state
      if (Result.isFailure(result)) {
        return perform(state, withMoved(unanswered(resource, result.failure, at), undefined, at), around)
      }
      const answer = result.success
      const until = holdOff(answer, at.now)
      // where a redirect has led, another one has said so
      const pause = until === undefined || until <= at.now
        ? undefined
        : around.pauseHost({ host: new URL(answer.finalUrl).hostname, since: at.now, until })
      const settle = (done: PollResult) => {
        if (!keepsBody(done)) answer.release?.()
        const step = withMoved(done, answer, at)
        return settings.pornRank && isStepMaintenanceDue(step, at.now)
          ? Effect.flatMap(ranked(step), (rank) => perform(state, withMaintenance(step, at.now, rank), around))
          : perform(state, withMaintenance(step, at.now), around)
      }
      const step = answered(resource, answer, at)
      if (step._tag === "Read" || step._tag === "Select") {
        return Effect.flatMap(
          looked(resource, answer, step, at),
          (done) => Effect.andThen(settle(done), tellHub(done, around, pushedByHub))
        )
      }
      return pause === undefined ? settle(step) : Effect.andThen(settle(step), pause)
    }

    /** A document was read: what it says of its hub, and what the hub should have pushed. */
    const tellHub = (done: PollResult, { hubDirectory }: PartitionContext, pushedByHub: boolean) => {
      if (done._tag === "Quiet" || stateAfter(done).failures > 0) return Effect.void
      const { announce, state: resource } = done.change
      const news = announce?._tag === "Entries" ? announce.ids.length : announce?._tag === "Document" ? 1 : 0
      return news === 0 || pushedByHub
        ? hubDirectory.observe(resource)
        : Effect.andThen(hubDirectory.observe(resource), hubDirectory.reportPolledEntries(resource.id, news))
    }

    /** Whoever waits for the record of a ping waits; the news do not. */
    const answerPings = (before: ResourceState, { entryCount, resource: after }: State, until: number) =>
      Effect.catchTag(
        pings.resolve(after.id, until, pingOutcomeOf(before, after, entryCount)),
        "StoreError",
        (error) => Effect.logWarning(`what came of a ping is not recorded: ${error.message}`)
      )

    /**
     * Takes a document for the answer of a fetch, with the validators of the last one: they are still the newest that are known.
     * One that cannot be read, or is the document of something else, is no error of the resource; it is fetched instead.
     */
    const pushed = Effect.fnUntraced(
      function*(state: State, push: Push, now: number, around: PartitionContext) {
        const before = state.resource
        if (
          push.document === undefined || push.byHub && (before.hasHubSubscribers === true || !isItsOwnTopic(before))
        ) {
          return fetchInstead(state, push, now)
        }
        const { body, contentType } = push.document
        const answer: Fetched = {
          status: 200,
          headers: { "content-type": contentType, etag: before.etag, "last-modified": before.lastModified },
          body,
          signature: ofBytes(body),
          finalUrl: before.url
        }
        const at: PollContext = {
          now,
          trigger: "push",
          jitter: jitter(),
          ...(around.hubDirectory.isPushedByHub(before.id) ? boundsWhenPushed : bounds)
        }
        const step = answered(before, answer, at)
        const read = step._tag === "Read" || step._tag === "Select" ? yield* looked(before, answer, step, at) : step
        const { failures, kind } = stateAfter(read)
        if (failures > 0 || kind !== before.kind) return fetchInstead(state, push, now)
        yield* perform(state, read, around)
        yield* answerPings(before, state, now)
        // only now: a fetch that was under way may have found the same, and told of it as missed
        if (push.byHub) yield* around.hubDirectory.reportPush(before.id)
        release(push)
      }
    )

    /**
     * Its host wants to be left alone. The row as well: it says when the next fetch is, and the next owner of the resource, who has heard nothing
     * of the host, comes no sooner. Who waits for the first document is told why there is none.
     */
    const putOff = Effect.fnUntraced(function*(state: State, until: number, { awaitLease }: PartitionContext) {
      const { resource } = state
      if (resource.lastFetch === undefined) {
        const change = heldBack(resource, until)
        if (change.state.http !== resource.http) yield* whenAvailable(Effect.andThen(awaitLease, store.record(change)))
        state.resource = change.state
        return answerWaiting(state)
      }
      state.resource = { ...resource, nextFetch: Math.max(resource.nextFetch, until) }
      yield* write(state.resource)
    })

    /**
     * Nearly all polls change nothing, so their way is short: an effect for each stage would cost more than the fetch. What lies between the
     * fetch and the note that it happened is plain functions; only what is rare is an effect of its own.
     */
    const run = Effect.fnUntraced(function*(self: Self<State, Message>, around: PartitionContext) {
      while (true) {
        const state = self.state ?? (yield* loaded(self, around))
        if (state === undefined) return undefined
        const { changed, hastened } = hear(self, state, clock.currentTimeMillisUnsafe())
        if (changed) yield* reloaded(state, around)
        if (hastened) yield* write(state.resource)
        self.pinned = state.pingedAt !== undefined || state.pushes.length > 0 || state.waitingForDocument.length > 0
        const now = clock.currentTimeMillisUnsafe()
        const push = state.pushes.shift()
        if (push !== undefined) {
          yield* pushed(state, push, now, around)
          continue
        }
        const next = due(state, now)
        // who asked for the first document while it came has it already
        if (typeof next !== "string" && state.pingedAt === undefined) {
          answerWaiting(state)
          self.pinned = false
        }
        if (typeof next !== "string" || self.draining()) return typeof next === "string" ? undefined : next.at
        const heldUntil = around.hostThrottle.pausedUntil(state.resource.host, self.id, now)
        if (heldUntil !== undefined) {
          yield* putOff(state, heldUntil, around)
          return heldUntil
        }
        const { pingedAt, pushedByHub } = state
        state.pushedByHub = false
        state.pingedAt = undefined // a ping that comes from now on causes one more fetch
        const wanted = request(state.resource, now, pingedAt)
        const result = yield* get(state.resource, wanted, now, around)
        if (typeof result === "number") {
          state.pingedAt = pingedAt
          state.pushedByHub = pushedByHub
          return result
        }
        const at = {
          now: clock.currentTimeMillisUnsafe(),
          trigger: next,
          requestedUrl: wanted.url,
          jitter: jitter(),
          ...(around.hubDirectory.isPushedByHub(self.id) ? boundsWhenPushed : bounds)
        }
        const before = state.resource
        yield* conclude(state, result, at, around, pushedByHub)
        if (pushedByHub) yield* around.hubDirectory.reportPush(self.id)
        if (pingedAt !== undefined) yield* answerPings(before, state, now)
        answerWaiting(state)
      }
    })

    return ResourceBehavior.of({ run })
  })
)

const nobody: ReadonlyArray<number> = []

/** Takes all messages; says whether the subscriptions have changed, and whether the next poll has come nearer. */
const hear = (self: Self<State, Message>, state: State, now: number) => {
  let changed = false
  let hastened = false
  for (let message = self.take(); message !== undefined; message = self.take()) {
    if (message._tag === "Ping") {
      state.pingedAt = now
      state.pushedByHub ||= message.byHub === true
    }
    if (message._tag === "Push") {
      if (state.resource.lastFetch === undefined || state.pushes.length >= maxPushed) {
        fetchInstead(state, message, now)
      } else {
        state.pushes.push(message)
      }
    }
    if (message._tag === "Sooner" && state.resource.nextFetch > message.at) {
      state.resource = { ...state.resource, nextFetch: message.at }
      hastened = true
    }
    if (message._tag === "FirstFetch") attend(state, message)
    if (message._tag === "Reload") changed = true
  }
  return { changed, hastened }
}

/** What a clock that was ahead has written is read as of now, so that neither polls nor pings wait until its time has come. */
const rightInTime = (resource: ResourceState, now: number): ResourceState => {
  const { lastFetch, nextFetch } = resource
  const planned = plannedFetch(nextFetch, now)
  if (planned === nextFetch && (lastFetch ?? 0) <= now) return resource
  return { ...resource, nextFetch: planned, ...(lastFetch !== undefined && { lastFetch: Math.min(lastFetch, now) }) }
}

type Select = Extract<PollStep, { _tag: "Select" }>

/** Why to fetch now, or when to look again. Nobody polls for a resource without subscribers. */
const due = (state: State, now: number): PollTrigger | { readonly at: number | undefined } => {
  const { lastFetch, nextFetch, subscribers } = state.resource
  // what is known of a resource that nobody watched is old: who waits wants it as it is now
  if (state.waitingForDocument.length > 0 && (lastFetch === undefined || subscribers === 0)) return "ring"
  if (state.pingedAt !== undefined) {
    const earliest = (lastFetch ?? 0) + pingSpacing
    return earliest <= now ? "ping" : { at: earliest }
  }
  if (subscribers === 0) return { at: undefined }
  if (nextFetch > now) return { at: nextFetch }
  return now - nextFetch > lateness ? "late" : "ring"
}
