import { Effect, FiberSet, Latch, Layer, Schedule } from "effect"
import { NotificationLog } from "#domain/ports/NotificationLog.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { warnOfStoreError } from "#domain/ports/StoreError.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import {
  type ListenerState,
  type NotificationFeed,
  openStream,
  removeListener,
  type ResourceStream,
  serveBehind,
  wakeStream
} from "./ResourceStream.ts"
import { type Attachment, type Listener, Listeners } from "./Listeners.ts"

/** Resources whose last sequences one query reads. */
const headsPerQuery = 5_000

/** Milliseconds between two queries of the last sequences. A single runner learns of all its notifications by `notify`. */
const sweepSpacingMs = { singleRunner: 5_000, cluster: 400 }

export const layer = Layer.effect(
  Listeners,
  Effect.gen(function*() {
    const log = yield* NotificationLog
    const { runnerAddress } = yield* Settings
    const feed: NotificationFeed = {
      log,
      run: yield* FiberSet.makeRuntime<never>(),
      streams: new Map<number, ResourceStream>(),
      hasListeners: Latch.makeUnsafe()
    }
    yield* feed.hasListeners.whenOpen(sweep(feed)).pipe(
      Effect.catchTag(
        "StoreError",
        warnOfStoreError("Streams and long polls wait for the database.")
      ),
      Effect.repeat(
        Schedule.spaced(runnerAddress === undefined ? sweepSpacingMs.singleRunner : sweepSpacingMs.cluster)
      ),
      Effect.forkScoped
    )
    return Listeners.of({
      notify: (resourceId) =>
        Effect.sync(() => {
          const stream = feed.streams.get(resourceId)
          if (stream !== undefined) wakeStream(feed, stream)
        }),
      attach: (listener, onAttached) => attach(feed, listener, onAttached)
    })
  })
)

const attach = Effect.fnUntraced(
  function*(feed: NotificationFeed, listener: Listener, onAttached: (attachment: Attachment) => void) {
    const unopened = [...listener.cursors.keys()].filter((id) => !feed.streams.has(id))
    const sequences = yield* whenAvailable(feed.log.heads(unopened))
    const heads = new Map(unopened.map((id, i) => [id, sequences[i] ?? 0]))
    const state: ListenerState = { listener, paused: false, behind: false, removed: false }
    for (const [id, cursor] of listener.cursors) {
      const stream = feed.streams.get(id)
      if (stream !== undefined) stream.listeners.add(state)
      else openStream(feed, id, heads.get(id) ?? cursor, state)
    }
    onAttached({
      resume: () => {
        state.paused = false
        serveBehind(feed, state)
      },
      detach: () => removeListener(feed, state)
    })
    serveBehind(feed, state)
  }
)

/** Wakes the streams with a new last sequence. */
const sweep = Effect.fnUntraced(function*(feed: NotificationFeed) {
  const ids = [...feed.streams.keys()]
  for (let at = 0; at < ids.length; at += headsPerQuery) {
    const some = ids.slice(at, at + headsPerQuery)
    const heads = yield* feed.log.heads(some)
    some.forEach((id, i) => {
      const stream = feed.streams.get(id)
      if (stream !== undefined && (heads[i] ?? 0) > stream.head) wakeStream(feed, stream)
    })
  }
})
