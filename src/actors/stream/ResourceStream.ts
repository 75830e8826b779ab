import { Cause, Effect, type Latch } from "effect"
import type { NotificationLog, NumberedNotification } from "#domain/ports/NotificationLog.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import type { Listener } from "./Listeners.ts"

/** Notifications that one query reads. */
const pageSize = 20

/** Listeners that are served before other fibers have their turn. */
const listenersPerYield = 500

/** A listener, and its state in the fan-out. */
export interface ListenerState {
  readonly listener: Listener
  /** `take` has returned false. */
  paused: boolean
  /** The listener is behind its streams, and a fiber of its own reads for it. */
  behind: boolean
  removed: boolean
}

/** A resource with listeners. */
export interface ResourceStream {
  readonly id: number
  /** Sequence of the last notification that the fan-out has handed to the listeners. */
  head: number
  readonly listeners: Set<ListenerState>
  /** The log may have notifications behind `head`. */
  hasMore: boolean
  reading: boolean
}

/** The state of the fan-out: all streams of the runner by resource. */
export interface NotificationFeed {
  readonly log: NotificationLog["Service"]
  /** Forks a fiber in the scope of the layer. */
  readonly run: (effect: Effect.Effect<void>) => unknown
  readonly streams: Map<number, ResourceStream>
  /** Open while the runner has a listener. */
  readonly hasListeners: Latch.Latch
}

export const openStream = (feed: NotificationFeed, id: number, head: number, state: ListenerState): void => {
  const stream: ResourceStream = { id, head, listeners: new Set([state]), hasMore: false, reading: false }
  feed.streams.set(id, stream)
  feed.hasListeners.openUnsafe()
  wakeStream(feed, stream) // a notification may have come since the head was read
}

export const wakeStream = (feed: NotificationFeed, stream: ResourceStream): void => {
  stream.hasMore = true
  if (stream.reading) return
  stream.reading = true
  feed.run(failListenersOn(feed, readStream(feed, stream), stream.listeners))
}

/** Starts a fiber for a listener that is behind one of its streams. */
export const serveBehind = (feed: NotificationFeed, state: ListenerState): void => {
  if (state.behind || findStreamAhead(feed, state) === undefined) return
  state.behind = true
  feed.run(failListenersOn(feed, catchUp(feed, state), [state]))
}

export const removeListener = (feed: NotificationFeed, state: ListenerState): void => {
  state.removed = true
  for (const id of state.listener.cursors.keys()) {
    const stream = feed.streams.get(id)
    if (stream?.listeners.delete(state) === true && stream.listeners.size === 0) feed.streams.delete(id)
  }
  if (feed.streams.size === 0) feed.hasListeners.closeUnsafe()
}

const readPage = ({ log }: NotificationFeed, { id }: ResourceStream, sequence: number) =>
  whenAvailable(log.readAfter(id, sequence, pageSize))

/** Hands the notifications behind the head to all listeners that have received everything before. */
const readStream = Effect.fnUntraced(function*(feed: NotificationFeed, stream: ResourceStream) {
  while (stream.hasMore && stream.listeners.size > 0) {
    stream.hasMore = false
    const page = yield* readPage(feed, stream, stream.head)
    for (const numbered of page) {
      stream.head = numbered.sequence
      let served = 0
      for (const state of stream.listeners) {
        if (!state.paused && !state.behind) handOver(state, stream, numbered)
        if (++served % listenersPerYield === 0) yield* Effect.yieldNow
      }
    }
    if (page.length === pageSize || page.at(-1)?.isCut === true) stream.hasMore = true
  }
  stream.reading = false // in one step with the last check: a later assignment would miss a wake-up
})

/** Reads for one listener, until it has caught up with its streams or pauses. */
const catchUp = Effect.fnUntraced(function*(feed: NotificationFeed, state: ListenerState) {
  for (
    let stream = findStreamAhead(feed, state);
    stream !== undefined;
    stream = findStreamAhead(feed, state)
  ) {
    const { head } = stream
    const page = yield* readPage(feed, stream, cursorOf(state, stream))
    for (const numbered of page) {
      if (!state.paused) handOver(state, stream, numbered)
    }
    // notifications up to the head that the page lacks are no longer stored
    if (page.length === 0) skipTo(state, stream, head)
  }
  state.behind = false // in one step with the last check as well
})

/** A stream whose head is in front of the listener's cursor. */
const findStreamAhead = (feed: NotificationFeed, state: ListenerState): ResourceStream | undefined => {
  if (state.paused || state.removed) return undefined
  for (const id of state.listener.cursors.keys()) {
    const stream = feed.streams.get(id)
    if (stream !== undefined && cursorOf(state, stream) < stream.head) return stream
  }
  return undefined
}

/** Fails the listeners of an unreadable stream, so that their clients reconnect or give up instead of waiting for ever. */
const failListenersOn = (
  feed: NotificationFeed,
  reading: Effect.Effect<void>,
  listeners: Iterable<ListenerState>
): Effect.Effect<void> =>
  Effect.catchCause(reading, (cause) =>
    Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.andThen(
      Effect.logError("Notifications could not be read; their streams are closed.", cause),
      Effect.sync(() => {
        for (const state of listeners) {
          removeListener(feed, state)
          state.listener.fail()
        }
      })
    ))

const cursorOf = ({ listener }: ListenerState, { id }: ResourceStream): number => listener.cursors.get(id) ?? 0

const handOver = (state: ListenerState, stream: ResourceStream, numbered: NumberedNotification): void => {
  const { sequence } = numbered
  if (cursorOf(state, stream) >= sequence) return
  skipTo(state, stream, sequence - 1)
  state.listener.cursors.set(stream.id, sequence)
  state.paused = !state.listener.take(numbered)
}

/** Sequences have no gaps, so that notifications missing up to `sequence` are no longer stored. */
const skipTo = (state: ListenerState, stream: ResourceStream, sequence: number): void => {
  const count = sequence - cursorOf(state, stream)
  if (count <= 0) return
  state.listener.cursors.set(stream.id, sequence)
  state.listener.missed(stream.id, count)
}
