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
  subscription: Model.HubSubscription | undefined
  watched: boolean
  /** What a poll has found, and until when the hub may push it. */
  missing: { readonly count: number; readonly until: number } | undefined
}

/** What a subscription at a hub needs of its partition. */
export interface HubSubscriptionContext {
  readonly hubDirectory: HubDirectory
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
      return { subscription: found?.subscription, watched: found?.watched ?? false }
    })

    /** The row is this now. Whoever relied on the hub and cannot any more is polled. */
    const take = (
      state: State,
      id: number,
      subscription: Model.HubSubscription | undefined,
      around: HubSubscriptionContext
    ) => {
      const lost = state.subscription?.reliable === true && subscription?.reliable !== true
      state.subscription = subscription
      if (subscription === undefined) around.hubDirectory.delete(id)
      else around.hubDirectory.set(subscription)
      return lost ? around.pollSoon(id) : Effect.void
    }

    const reload = Effect.fnUntraced(function*(state: State, id: number, around: HubSubscriptionContext) {
      const { subscription, watched } = yield* load(id)
      state.watched = watched
      yield* take(state, id, subscription, around)
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
      function*(
        state: State,
        { mode, next }: Extract<Model.HubSubscriptionStep, { _tag: "Ask" }>,
        around: HubSubscriptionContext
      ) {
        const { callback, hub, resourceId, secret, topic } = next
        if (!(yield* save(state, next, around)) || callback === undefined || secret === undefined) return
        const leaseSeconds = Model.requestedLeaseSeconds
        const refusal = yield* client.send({ hub, mode, topic, callback, secret, leaseSeconds }).pipe(
          Effect.as(undefined),
          Effect.catchTag("HubRefused", Effect.succeed)
        )
        const { subscription: asked } = state
        yield* reload(state, resourceId, around)
        if (refusal === undefined || asked === undefined || state.subscription?.revision !== asked.revision) return
        yield* Effect.logInfo(`${new URL(hub).host} does not ${mode} a topic: ${refusal.message}`)
        yield* save(state, Model.recordRefusal(asked, refusal.message, yield* Clock.currentTimeMillis), around)
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
            const next = Model.withHubLinks(state.subscription, message.resource, message.found)
            if (next !== undefined && (yield* save(state, next, around))) yield* reload(state, self.id, around)
            break
          }
          case "News": {
            if (state.subscription?.state !== "active") break
            const now = yield* Clock.currentTimeMillis
            const { count = 0, until = now + Model.pushTimeoutMs } = state.missing ?? {}
            state.missing = { count: count + message.count, until }
            break
          }
          case "Pushed": {
            state.missing = undefined
            const next = state.subscription === undefined ? undefined : Model.recordPush(state.subscription)
            if (next !== undefined) yield* save(state, next, around)
          }
        }
      }
    })

    /** The time for a push is over. */
    const miss = Effect.fnUntraced(
      function*(state: State, subscription: Model.HubSubscription, now: number, around: HubSubscriptionContext) {
        const missed = state.missing?.count ?? 0
        state.missing = undefined
        trust.addCounts({ hub: subscription.hub, pushed: 0, missed, consecutiveMisses: subscription.reliable ? 1 : 0 })
        const next = Model.recordMissedPush(subscription, now)
        if (next !== undefined) yield* save(state, next, around)
      }
    )

    const run = Effect.fnUntraced(function*(self: Self<State, Message>, around: HubSubscriptionContext) {
      const state = self.state ??= { ...(yield* load(self.id)), missing: undefined }
      while (true) {
        yield* hear(self, state, around)
        const { missing, subscription } = state
        self.pinned = missing !== undefined
        if (subscription === undefined) return undefined
        const now = yield* Clock.currentTimeMillis
        if (missing !== undefined && missing.until <= now) {
          yield* miss(state, subscription, now, around)
          continue
        }
        const step = Model.nextStep(subscription, state.watched && trust.enabled, yield* client.makeCredentials, now)
        if (step._tag === "Wait" || self.draining()) {
          return earliest(step._tag === "Wait" ? step.until : subscription.dueAt, missing?.until)
        }
        if (step._tag === "Save") {
          yield* save(state, step.next, around)
        } else if (step._tag === "Remove") {
          yield* whenAvailable(store.remove(subscription))
          yield* reload(state, self.id, around)
        } else {
          const turn = turns.reserve(self.id, subscription.hub, now)
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
