import { Effect, Layer } from "effect"
import * as Labels from "#domain/Labels.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { makeAccountLimit } from "./AccountLimit.ts"
import { makeFindSubscription } from "./FindSubscription.ts"
import { makePartitionOf } from "./ParseTopic.ts"
import { makeReloadSubscriptions } from "./ReloadSubscriptions.ts"
import { refuseNotSubscribed } from "./Representations.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { type ControlRequest, type LabelRequest, SubscriptionControl } from "./SubscriptionControl.ts"

/** Resumes of one account. Each causes an attempt at a callback that may be broken. */
const resumeLimit = { burst: 100, perMinute: 20 }

export const layer = Layer.effect(
  SubscriptionControl,
  Effect.gen(function*() {
    return SubscriptionControl.of({
      pause: yield* makePause,
      resume: yield* makeResume,
      setLabels: yield* makeSetLabels
    })
  })
)

const makePause = Effect.gen(function*() {
  const health = yield* SubscriptionHealth
  const findSubscription = yield* makeFindSubscription
  const reload = yield* makeReloadSubscriptions
  const partitionOf = yield* makePartitionOf

  return Effect.fn("SubscriptionControl.pause")(function*({ caller, ...name }: ControlRequest) {
    const subscription = yield* findSubscription(caller, name)
    if (subscription.channel !== "webhook") return yield* refuseOtherChannel(subscription)
    if (subscription.state === "pending") return yield* refusePending(subscription)
    if (yield* refuseStoreErrors(health.pause(subscription.id))) {
      const { id, resourceId } = subscription
      yield* reload([{ id, resourceId, partition: partitionOf(subscription) }])
    }
    return { ...subscription, state: "paused" } satisfies Subscription
  }, Effect.uninterruptible)
})

const makeResume = Effect.gen(function*() {
  const health = yield* SubscriptionHealth
  const findSubscription = yield* makeFindSubscription
  const reload = yield* makeReloadSubscriptions
  const limit = makeAccountLimit("resumes", resumeLimit)

  return Effect.fn("SubscriptionControl.resume")(function*({ caller, ...name }: ControlRequest) {
    const subscription = yield* findSubscription(caller, name)
    if (subscription.state === "pending") return yield* refusePending(subscription)
    yield* limit(caller)
    const resumed = yield* refuseStoreErrors(health.resume(subscription.id))
    if (resumed === undefined) {
      return yield* refuseNotSubscribed(`The subscription ${subscription.id} has ended meanwhile.`)
    }
    yield* reload([resumed])
    return { ...subscription, state: "active" } satisfies Subscription
  }, Effect.uninterruptible)
})

const makeSetLabels = Effect.gen(function*() {
  const store = yield* SubscriptionStore
  const findSubscription = yield* makeFindSubscription

  return Effect.fn("SubscriptionControl.setLabels")(function*({ caller, labels: given, ...name }: LabelRequest) {
    const { labels: _, ...subscription } = yield* findSubscription(caller, name)
    const labels = yield* Effect.fromResult(Labels.check(given, "labels"))
    if (!(yield* refuseStoreErrors(store.setLabels(subscription.id, labels)))) {
      return yield* refuseNotSubscribed(`The subscription ${subscription.id} has ended meanwhile.`)
    }
    return { ...subscription, ...(labels.length > 0 && { labels }) } satisfies Subscription
  })
})

const refusePending = ({ id }: Subscription): Effect.Effect<never, Refusal> =>
  Effect.fail(
    badParameter(
      "subscription",
      `The subscription ${id} is pending: its callback has not confirmed the subscription yet.`
    )
  )

const refuseOtherChannel = ({ channel, id }: Subscription): Effect.Effect<never, Refusal> =>
  Effect.fail(
    badParameter(
      "subscription",
      `The subscription ${id} is no webhook: ${
        channel === "xmpp" ? "the presence of its JID would resume it" : "the null device gets no requests"
      }. Unsubscribe it.`
    )
  )
