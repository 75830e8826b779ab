import { Clock, Context, Effect, Layer, Option } from "effect"
import { HubClient } from "#domain/ports/HubClient.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import * as Model from "#domain/websub/HubSubscription.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import type { HubDirectory } from "./HubDirectory.ts"
import type { Message } from "./HubSubscriptionMessage.ts"
import { HubReliability } from "./HubReliability.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { HubRequestPacer } from "#actors/limits/HubRequestPacer.ts"

export interface State {
  upstream: Model.HubSubscription | undefined
  watched: boolean
  /** What a poll has found, and until when the hub may push it. */
  missing: { readonly count: number; readonly until: number } | undefined
}

/** What a subscription at a hub needs of its partition. */
export interface HubSubscriptionContext {
  readonly fed: HubDirectory
  /** Nothing is pushed any more: polls are frequent from now on. */
  readonly pollSoon: (id: number) => Effect.Effect<void>
}

export class HubSubscriptionBehavior extends Context.Service<HubSubscriptionBehavior, {
  /** Asks the hub when it is time; returns when something is due again. */
  readonly run: (self: Self<State, Message>, around: HubSubscriptionContext) => Effect.Effect<number | undefined>
}>()("windhover/actors/resource/HubSubscription/HubSubscriptionBehavior") {}

export const layer = Layer.effect(
  HubSubscriptionBehavior,
  Effect.gen(function*() {
    const store = yield* HubSubscriptionStore
    const client = yield* HubClient
    const trust = yield* HubReliability
    const turns = new HubRequestPacer()

    const load = Effect.fnUntraced(function*(id: number) {
      const found = Option.getOrUndefined(yield* whenAvailable(store.find(id)))
      return { upstream: found?.upstream, watched: found?.watched ?? false }
    })

    /** The row is this now. Whoever relied on the hub and cannot any more is polled. */
    const take = (
      state: State,
      id: number,
      upstream: Model.HubSubscription | undefined,
      around: HubSubscriptionContext
    ) => {
      const lost = state.upstream?.trusted === true && upstream?.trusted !== true
      state.upstream = upstream
      if (upstream === undefined) around.fed.delete(id)
      else around.fed.set(upstream)
      return lost ? around.pollSoon(id) : Effect.void
    }

    const reload = Effect.fnUntraced(function*(state: State, id: number, around: HubSubscriptionContext) {
      const { upstream, watched } = yield* load(id)
      state.watched = watched
      yield* take(state, id, upstream, around)
    })

    /** False when the row has changed meanwhile; then the state is what it is now. */
    const save = Effect.fnUntraced(
      function*(state: State, next: Model.HubSubscription, around: HubSubscriptionContext) {
        const saved = yield* whenAvailable(store.save(next))
        if (!saved) {
          yield* reload(state, next.resourceId, around)
          return false
        }
        yield* take(state, next.resourceId, { ...next, revision: next.revision + 1 }, around)
        return true
      }
    )

    /** The hub may verify before it answers: what its refusal means depends on what the row is by then. */
    const ask = Effect.fnUntraced(
      function*(state: State, { mode, next }: Extract<Model.Step, { _tag: "Ask" }>, around: HubSubscriptionContext) {
        const { callback, hub, resourceId, secret, topic } = next
        if (!(yield* save(state, next, around)) || callback === undefined || secret === undefined) return
        const leaseSeconds = Model.wantedLease
        const refusal = yield* client.send({ hub, mode, topic, callback, secret, leaseSeconds }).pipe(
          Effect.as(undefined),
          Effect.catchTag("HubRefused", Effect.succeed)
        )
        const { upstream: asked } = state
        yield* reload(state, resourceId, around)
        if (refusal === undefined || asked === undefined || state.upstream?.revision !== asked.revision) return
        yield* Effect.logInfo(`${new URL(hub).host} does not ${mode} a topic: ${refusal.message}`)
        yield* save(state, Model.refused(asked, refusal.message, yield* Clock.currentTimeMillis), around)
      }
    )

    const hear = Effect.fnUntraced(function*(self: Self<State, Message>, state: State, around: HubSubscriptionContext) {
      for (let message = self.take(); message !== undefined; message = self.take()) {
        switch (message._tag) {
          case "Look":
            break
          case "Reload":
            yield* reload(state, self.id, around)
            break
          case "Found": {
            yield* reload(state, self.id, around)
            const next = Model.found(state.upstream, message.resource, message.found)
            if (next !== undefined && (yield* save(state, next, around))) yield* reload(state, self.id, around)
            break
          }
          case "News": {
            if (state.upstream?.state !== "active") break
            const now = yield* Clock.currentTimeMillis
            const { count = 0, until = now + Model.grace } = state.missing ?? {}
            state.missing = { count: count + message.count, until }
            break
          }
          case "Pushed": {
            state.missing = undefined
            const next = state.upstream === undefined ? undefined : Model.pushed(state.upstream)
            if (next !== undefined) yield* save(state, next, around)
          }
        }
      }
    })

    /** The time for a push is over. */
    const miss = Effect.fnUntraced(
      function*(state: State, upstream: Model.HubSubscription, now: number, around: HubSubscriptionContext) {
        const missed = state.missing?.count ?? 0
        state.missing = undefined
        trust.count({ hub: upstream.hub, pushed: 0, missed, strikes: upstream.trusted ? 1 : 0 })
        const next = Model.missed(upstream, now)
        if (next !== undefined) yield* save(state, next, around)
      }
    )

    const run = Effect.fnUntraced(function*(self: Self<State, Message>, around: HubSubscriptionContext) {
      const state = self.state ??= { ...(yield* load(self.id)), missing: undefined }
      while (true) {
        yield* hear(self, state, around)
        const { missing, upstream } = state
        self.pinned = missing !== undefined
        if (upstream === undefined) return undefined
        const now = yield* Clock.currentTimeMillis
        if (missing !== undefined && missing.until <= now) {
          yield* miss(state, upstream, now, around)
          continue
        }
        const step = Model.next(upstream, state.watched && trust.enabled, yield* client.makeCredentials, now)
        if (step._tag === "Wait" || self.draining()) {
          return earliest(step._tag === "Wait" ? step.until : upstream.dueAt, missing?.until)
        }
        if (step._tag === "Save") {
          yield* save(state, step.next, around)
        } else if (step._tag === "Remove") {
          yield* whenAvailable(store.remove(upstream))
          yield* reload(state, self.id, around)
        } else {
          const turn = turns.reserve(self.id, upstream.hub, now)
          if (turn > now) return earliest(turn, missing?.until)
          turns.release(self.id)
          yield* ask(state, step, around)
        }
      }
    })

    return HubSubscriptionBehavior.of({ run })
  })
)

const earliest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)
