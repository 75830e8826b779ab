import { Clock, Effect, Layer, Option } from "effect"
import { documentBytes, isAfterOutage } from "#domain/delivery/Delivery.ts"
import { scheduleOf } from "#domain/delivery/Retry.ts"
import { hasLeaseEnded } from "#domain/websub/Lease.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import * as DeliveryLimiter from "#actors/limits/DeliveryLimiter.ts"
import { withRoom } from "#actors/limits/MemoryRoom.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { checkSpacingMs } from "#actors/runtime/ShardLease.ts"
import { failingMsOf, makeCallbackHealth } from "./CallbackHealth.ts"
import { makeDeliveryAttempt } from "./DeliveryAttempt.ts"
import { type DeliveryRetrySteps, makeDeliveryRetrySteps, type PlannedDelivery } from "./DeliveryRetry.ts"
import { makeDeliveryTrial } from "./DeliveryTrial.ts"
import { emptyWindow, fill, maxInMemory, offer, release } from "./DeliveryWindow.ts"
import { isLarge, type Message, type State, SubscriptionBehavior, type SubscriptionContext } from "./Subscription.ts"

/** Large documents in memory at once, over all subscriptions of the runner. */
const maxLargeDocuments = 32

/** Copies of a large document while it is sent: as read from the outbox, and as rendered. */
const copiesInDelivery = 2

/** Result of a step whose next step follows at once. */
const continueNow: unique symbol = Symbol("go on")

export const layer = Layer.effect(
  SubscriptionBehavior,
  Effect.gen(function*() {
    const subscriptions = yield* SubscriptionStore
    const settings = yield* Settings
    const retry = yield* makeDeliveryRetrySteps
    const health = yield* makeCallbackHealth
    const trial = yield* makeDeliveryTrial
    const step = yield* makeStep(retry)
    const clock = yield* Clock.Clock
    // An overdue delivery keeps its document in memory.
    const { exchanges } = yield* DocumentMemory
    const largeSlots = yield* DeliveryLimiter.make({ maxDeliveries: maxLargeDocuments, maxPerHost: 4, maxOverdue: 8 })

    const loadState = Effect.fnUntraced(function*(self: Self<State, Message>) {
      const subscription = Option.getOrUndefined(yield* whenAvailable(subscriptions.load(self.id)))
      if (subscription?.state !== "active") return undefined
      self.state = {
        subscription,
        retry: scheduleOf(subscription, settings.retry),
        failing: subscription.failing,
        trial: subscription.trial?.sent,
        window: emptyWindow(),
        callback: { speed: "unknown" },
        largeCallback: { speed: "unknown" },
        hungNotifications: 0
      }
      return self.state
    })

    /** Reads a large document when it has a slot, and releases the document with the slot: thousands may wait for a hanging callback. */
    const stepInSlot = (self: Self<State, Message>, state: State, context: SubscriptionContext, bytes: number) => {
      const { face, host } = state.subscription
      const stepOnce = Effect.suspend(() => {
        state.largeBytes = undefined
        return Effect.tap(step(self, state, context, true), () => Effect.sync(() => release(state.window)))
      })
      const need = { key: host, bytes: copiesInDelivery * bytes, isForStrangers: face === "hub" }
      return largeSlots.run(host, state.largeCallback, withRoom(exchanges, need, stepOnce))
    }

    const run = Effect.fnUntraced(function*(self: Self<State, Message>, context: SubscriptionContext) {
      while (true) {
        for (let message = self.take(); message !== undefined; message = self.take()) applyMessage(self, message)
        if (self.state?.isOutdated === true) self.state = undefined
        const state = self.state ?? (yield* loadState(self))
        if (state === undefined) return undefined
        if (state.trial !== undefined) {
          const until = yield* trial.check(self, state.trial)
          if (until !== undefined) return until
          continue
        }
        const now = clock.currentTimeMillisUnsafe()
        const until = waitForAttempt(retry, state, now) ?? waitForPause(state, now)
        if (until !== undefined) return yield* health.announce(state, until, now)
        const { largeBytes } = state
        const next = largeBytes === undefined
          ? yield* step(self, state, context)
          : yield* stepInSlot(self, state, context, largeBytes)
        if (next !== continueNow) return next
      }
    })

    return SubscriptionBehavior.of({ run })
  })
)

/** Sends the first delivery if it is due. Returns the time of the next look, or undefined when no delivery waits. */
const makeStep = Effect.fnUntraced(function*(retry: DeliveryRetrySteps) {
  const outbox = yield* Outbox
  const attempt = yield* makeDeliveryAttempt(retry)
  const clock = yield* Clock.Clock

  const readOutbox = Effect.fnUntraced(function*(state: State, count: number) {
    state.nextAttempt = undefined
    fill(state.window, yield* whenAvailable(outbox.backlog(state.subscription.id, count, maxInMemory.bytes)))
  })

  const sendFirst = (
    self: Self<State, Message>,
    state: State,
    context: SubscriptionContext,
    hasSlot: boolean
  ): Effect.Effect<number | typeof continueNow | undefined> => {
    const { subscription, window } = state
    const first = window.deliveries[0]
    if (first === undefined) return Effect.undefined
    const now = clock.currentTimeMillisUnsafe()
    if (hasLeaseEnded(subscription, now)) return Effect.undefined
    if (isEarly(retry, state, first, now)) return succeedNow
    if (self.draining()) return Effect.undefined
    if (!context.lease.isHeld()) return Effect.as(Effect.sleep(checkSpacingMs), continueNow)
    if (isLarge(first) && !hasSlot) {
      state.largeBytes = documentBytes(first.notification)
      release(window)
      return succeedNow
    }
    if (isAfterOutage(nextAttemptAt(retry, state, first, now), state.lastAttemptAt, now)) state.outageEndedAt = now
    return Effect.map(attempt(state, first, context), continueUnlessLater)
  }

  // No generator, because thousands of deliveries may wait within their step.
  return (self: Self<State, Message>, state: State, context: SubscriptionContext, hasSlot = false) =>
    state.window.deliveries.length === 0 && state.window.hasMore
      ? Effect.flatMap(
        readOutbox(state, hasSlot ? 1 : maxInMemory.count),
        () => sendFirst(self, state, context, hasSlot)
      )
      : sendFirst(self, state, context, hasSlot)
})

const succeedNow = Effect.succeed<typeof continueNow>(continueNow)

const continueUnlessLater = (until: number | undefined): number | typeof continueNow => until ?? continueNow

const nextAttemptAt = (retry: DeliveryRetrySteps, state: State, first: PlannedDelivery, now: number): number =>
  retry.nextAttemptAt(state.retry, first, failingMsOf(state, now), now)

/** True before the next attempt of a delivery that has failed, or that waits for the next probe of a failing callback. */
const isEarly = (retry: DeliveryRetrySteps, state: State, first: PlannedDelivery, now: number): boolean =>
  (first.attempt > 0 || first.requestedWait !== undefined) && nextAttemptAt(retry, state, first, now) > now

/**
 * The time of the next attempt of a waiting first delivery, epoch ms.
 *
 * The deliveries leave memory meanwhile, because waits take up to hours, and any number of subscriptions may wait. The outbox has them.
 */
const waitForAttempt = (retry: DeliveryRetrySteps, state: State, now: number): number | undefined => {
  const first = state.nextAttempt ?? state.window.deliveries[0]
  if (first === undefined || !isEarly(retry, state, first, now)) return undefined
  const { attempt, dueAt, requestedWait } = first
  state.nextAttempt = { attempt, dueAt, ...(requestedWait === undefined ? {} : { requestedWait }) }
  release(state.window)
  return first.dueAt
}

/** The end of the pause of a hanging callback, epoch ms. The deliveries leave memory meanwhile. */
const waitForPause = (state: State, now: number): number | undefined => {
  if (state.pausedUntil === undefined || state.pausedUntil <= now) return undefined
  release(state.window)
  return state.pausedUntil
}

/** Applies a message to the state. Without state the message is dropped: loading finds all waiting deliveries. */
const applyMessage = (self: Self<State, Message>, message: Message): void => {
  const { state } = self
  if (state === undefined) return
  switch (message._tag) {
    case "Reload":
      self.state = undefined
      self.pinned = false
      return
    case "CheckOutbox":
      state.window.hasMore = true
      return
    case "Deliver":
      offer(state.window, message.delivery)
  }
}
