import { Clock, Effect, Layer, Metric, Option } from "effect"
import { HubRequestPacer } from "#actors/limits/HubRequestPacer.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import { missedByHubs } from "#actors/runtime/Metrics.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { HubClient } from "#domain/ports/HubClient.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import * as Model from "#domain/websub/HubSubscription.ts"
import { HubReliability } from "./HubReliability.ts"
import { HubSubscriptionBehavior, type HubSubscriptionContext, type State } from "./HubSubscription.ts"
import type { Message } from "./HubSubscriptionMessage.ts"

/** Services of the runner for its subscriptions at hubs. */
interface HubServices {
  readonly store: HubSubscriptionStore["Service"]
  readonly client: HubClient["Service"]
  readonly reliability: HubReliability["Service"]
  readonly pacer: HubRequestPacer
}

export const layer = Layer.effect(
  HubSubscriptionBehavior,
  Effect.gen(function*() {
    const services: HubServices = {
      store: yield* HubSubscriptionStore,
      client: yield* HubClient,
      reliability: yield* HubReliability,
      pacer: new HubRequestPacer()
    }
    return HubSubscriptionBehavior.of({ run: (self, context) => run(services, self, context) })
  })
)

/** The loop of a subscription: takes messages, then does the due steps until the next one lies in the future. */
const run = Effect.fnUntraced(
  function*(services: HubServices, self: Self<State, Message>, context: HubSubscriptionContext) {
    const { client, pacer, reliability, store } = services
    const state = self.state ??= { ...(yield* load(services, self.id)), missing: undefined }
    while (true) {
      yield* takeMessages(services, self, state, context)
      const { missing, subscription } = state
      self.pinned = missing !== undefined
      if (subscription === undefined) return undefined
      const now = yield* Clock.currentTimeMillis
      if (missing !== undefined && missing.until <= now) {
        yield* recordMiss(services, state, subscription, now, context)
        continue
      }
      const isWanted = state.watched && reliability.enabled
      const step = Model.nextStep(subscription, isWanted, yield* client.makeCredentials, now)
      if (step._tag === "Wait" || self.draining()) {
        return earliest(step._tag === "Wait" ? step.until : subscription.dueAt, missing?.until)
      }
      if (step._tag === "Save") {
        yield* save(services, state, step.next, context)
      } else if (step._tag === "Remove") {
        yield* whenAvailable(store.remove(subscription))
        yield* reload(services, state, self.id, context)
      } else {
        const sendAt = pacer.reserve(self.id, subscription.hub, now)
        if (sendAt > now) return earliest(sendAt, missing?.until)
        pacer.release(self.id)
        yield* send(services, state, step, context)
      }
    }
  }
)

const earliest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)

const takeMessages = Effect.fnUntraced(
  function*(services: HubServices, self: Self<State, Message>, state: State, context: HubSubscriptionContext) {
    for (let message = self.take(); message !== undefined; message = self.take()) {
      switch (message._tag) {
        case "Check":
          break
        case "Reload":
          yield* reload(services, state, self.id, context)
          break
        case "LinksChanged": {
          yield* reload(services, state, self.id, context)
          const next = Model.withHubLinks(state.subscription, message.resource, message.links)
          if (next !== undefined && (yield* save(services, state, next, context))) {
            yield* reload(services, state, self.id, context)
          }
          break
        }
        case "EntriesPolled": {
          if (state.subscription?.state !== "active") break
          const now = yield* Clock.currentTimeMillis
          const { count = 0, until = now + Model.pushTimeoutMs } = state.missing ?? {}
          state.missing = { count: count + message.count, until }
          break
        }
        case "Pushed": {
          state.missing = undefined
          const next = state.subscription === undefined ? undefined : Model.recordPush(state.subscription)
          if (next !== undefined) yield* save(services, state, next, context)
        }
      }
    }
  }
)

const load = Effect.fnUntraced(function*({ store }: HubServices, id: number) {
  const found = Option.getOrUndefined(yield* whenAvailable(store.find(id)))
  return { subscription: found?.subscription, watched: found?.watched ?? false }
})

const reload = Effect.fnUntraced(
  function*(services: HubServices, state: State, id: number, context: HubSubscriptionContext) {
    const { subscription, watched } = yield* load(services, id)
    state.watched = watched
    yield* adopt(state, id, subscription, context)
  }
)

/** Takes the stored subscription into the state. A resource that loses its reliable hub is polled soon. */
const adopt = (
  state: State,
  id: number,
  subscription: Model.HubSubscription | undefined,
  { hubDirectory, pollWithinMaxPeriod }: HubSubscriptionContext
) => {
  const isLost = state.subscription?.reliable === true && subscription?.reliable !== true
  state.subscription = subscription
  if (subscription === undefined) hubDirectory.delete(id)
  else hubDirectory.set(subscription)
  return isLost ? pollWithinMaxPeriod(id) : Effect.void
}

/** Returns false when the row has changed meanwhile. The state is then loaded anew. */
const save = Effect.fnUntraced(
  function*(services: HubServices, state: State, next: Model.HubSubscription, context: HubSubscriptionContext) {
    const saved = yield* whenAvailable(services.store.save(next))
    if (!saved) {
      yield* reload(services, state, next.resourceId, context)
      return false
    }
    yield* adopt(state, next.resourceId, { ...next, revision: next.revision + 1 }, context)
    return true
  }
)

/** Sends a request to the hub. A hub may verify before its answer, so a refusal counts only while the row is unchanged. */
const send = Effect.fnUntraced(
  function*(
    services: HubServices,
    state: State,
    { mode, next }: Extract<Model.HubSubscriptionStep, { _tag: "Request" }>,
    context: HubSubscriptionContext
  ) {
    const { callback, hub, resourceId, secret, topic } = next
    if (!(yield* save(services, state, next, context)) || callback === undefined || secret === undefined) return
    const leaseSeconds = Model.requestedLeaseSeconds
    const error = yield* services.client.send({ hub, mode, topic, callback, secret, leaseSeconds }).pipe(
      Effect.as(undefined),
      Effect.catchTag("HubRequestError", Effect.succeed)
    )
    const { subscription: requested } = state
    yield* reload(services, state, resourceId, context)
    if (error === undefined || requested === undefined || state.subscription?.revision !== requested.revision) return
    yield* Effect.logInfo("A publisher's hub refused a request; another try follows.").pipe(
      Effect.annotateLogs({ hub: new URL(hub).host, mode, resource: resourceId, reason: error.message })
    )
    const now = yield* Clock.currentTimeMillis
    yield* save(services, state, Model.recordRefusal(requested, error.message, now), context)
  }
)

/** Counts the polled entries that the hub has not pushed in time. */
const recordMiss = Effect.fnUntraced(
  function*(
    services: HubServices,
    state: State,
    subscription: Model.HubSubscription,
    now: number,
    context: HubSubscriptionContext
  ) {
    const missed = state.missing?.count ?? 0
    state.missing = undefined
    const { hub, reliable } = subscription
    services.reliability.addCounts({ hub, pushed: 0, missed, consecutiveMisses: reliable ? 1 : 0 })
    yield* Metric.update(missedByHubs, missed)
    const next = Model.recordMissedPush(subscription, now)
    if (next !== undefined) yield* save(services, state, next, context)
  }
)
