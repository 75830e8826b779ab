import { Clock, Effect } from "effect"
import { describeUnsplit, needsSplit } from "#domain/delivery/Delivery.ts"
import { type AttemptResult, attemptText, type Delivery } from "#domain/delivery/Notification.ts"
import {
  afterFailure,
  maxFailingMs,
  maxStrangerFailingMs,
  maxWaitingMs,
  scheduleAfter
} from "#domain/delivery/Retry.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { type NotificationTracer, NotificationTraces } from "#domain/ports/NotificationTraces.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import { isOfStranger, type Subscription } from "#domain/Subscription.ts"
import { logsDetails } from "#actors/runtime/DetailedLog.ts"
import { CurrentLiveFeed, type LiveFeed } from "#actors/runtime/LiveFeed.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { makeAskAgain } from "./AskAgain.ts"
import { makeCallbackHealth } from "./CallbackHealth.ts"
import type { DeliveryRetrySteps } from "./DeliveryRetry.ts"
import { makeDeliveryTrial } from "./DeliveryTrial.ts"
import { close, forget, release, removeOlder, restartWaits } from "./DeliveryWindow.ts"
import { endSubscription } from "./EndSubscription.ts"
import { type Failure, type Outcome, type Sender, Senders } from "./Senders.ts"
import type { State, SubscriptionContext } from "./Subscription.ts"

/** Interval between two looks at a channel without a sender, in ms. */
const channelCheckMs = 15_000

const unserved: Sender = () => Effect.succeed({ verdict: "unserved" })

/** Sends one delivery. Its outcome confirms, postpones or drops the row, or ends the subscription. */
export const makeDeliveryAttempt = Effect.fnUntraced(function*(retry: DeliveryRetrySteps) {
  const outbox = yield* Outbox
  const log = yield* DeliveryLog
  const events = yield* EventLog
  const subscriptions = yield* SubscriptionStore
  const senders = yield* Senders
  const trial = yield* makeDeliveryTrial
  const health = yield* makeCallbackHealth
  const reportAllowance = yield* makeReportAllowance
  const handleFailure = yield* makeHandleFailure(retry)
  const logsDeliveries = yield* logsDetails
  const askAgain = yield* makeAskAgain
  const traces = yield* NotificationTraces
  const clock = yield* Clock.Clock
  const live = yield* CurrentLiveFeed

  const end = Effect.fnUntraced(function*(
    { subscription, window }: State,
    { attempt, sequence }: Delivery,
    result: AttemptResult,
    { reloadResource }: SubscriptionContext,
    reason: "gone" | "lease"
  ) {
    const last = { sequence, attempt: attempt + 1, ...result }
    yield* endSubscription<never>({ events, log, subscriptions }, whenAvailable, subscription, last, reason)
    yield* reloadResource(subscription.resourceId)
    close(window)
  })

  const confirm = ({ window }: State, delivery: Delivery, result: AttemptResult | undefined) =>
    Effect.flatMap(
      delivery.isPart === true ? whenAvailable(outbox.confirmPart(delivery.id)) : outbox.confirm(delivery.id),
      () => {
        window.deliveries.shift()
        return result === undefined ? Effect.undefined : Effect.as(log.recordDelivery(delivery, result), undefined)
      }
    )

  const settle = Effect.fnUntraced(function*(
    state: State,
    delivery: Delivery,
    context: SubscriptionContext,
    outcome: Outcome
  ) {
    if (logsDeliveries) yield* logAttempt(state, delivery, outcome)
    switch (outcome.verdict) {
      case "delivered":
        if (state.failing !== undefined) yield* health.recordSuccess(state)
        if (state.subscription.trial !== undefined) yield* trial.start(state, delivery)
        return yield* confirm(state, delivery, outcome.attempt)
      case "ended":
        yield* end(state, delivery, outcome.attempt, context, "gone")
        return undefined
      case "failed":
        if (outcome.isElsewhere === true) yield* askAgain(state.subscription)
        if (hasLeaseEndedByFailures(state)) yield* end(state, delivery, describeEnd(outcome.attempt), context, "lease")
        else yield* handleFailure(state, delivery, outcome)
        return undefined
      case "lease-lost":
        return undefined
      case "unserved":
        return (yield* Clock.currentTimeMillis) + channelCheckMs
    }
  })

  const conclude = (
    state: State,
    delivery: Delivery,
    context: SubscriptionContext,
    outcome: Outcome,
    startedAt: number
  ): Effect.Effect<number | undefined> => {
    if (traces !== undefined) traceAttempt(traces, state, delivery, outcome, startedAt, clock)
    if (outcome.verdict === "delivered" || outcome.verdict === "failed") {
      state.lastAttemptAt = clock.currentTimeMillisUnsafe()
    }
    if (live.isWatched) publishAttempt(live, state, delivery, outcome, clock.currentTimeMillisUnsafe())
    if (outcome.verdict !== "delivered") return settle(state, delivery, context, outcome)
    state.hungNotifications = 0
    const isUsual = !logsDeliveries && state.failing === undefined && state.subscription.trial === undefined
    return isUsual ? confirm(state, delivery, outcome.attempt) : settle(state, delivery, context, outcome)
  }

  /** Returns the time of the next look (epoch ms), or undefined for at once. No generator, because thousands of deliveries may wait in it. */
  return (state: State, delivery: Delivery, context: SubscriptionContext): Effect.Effect<number | undefined> => {
    const startedAt = traces === undefined ? 0 : clock.currentTimeMillisUnsafe()
    const send = senders[state.subscription.channel] ?? unserved
    const attempted = Effect.flatMap(
      send(delivery, state.subscription, context.lease.isHeld, state.callback),
      (outcome) => conclude(state, delivery, context, outcome, startedAt)
    )
    const isFirstDebt = delivery.credits === firstDebt && delivery.attempt === 0
    return isFirstDebt ? Effect.andThen(reportAllowance(state), attempted) : attempted
  }
})

const traceAttempt = (
  traces: NotificationTracer,
  { subscription: { channel, id } }: State,
  { attempt, notification, sequence }: Delivery,
  outcome: Outcome,
  startedAt: number,
  clock: Clock.Clock
): void => {
  if (outcome.verdict === "lease-lost" || outcome.verdict === "unserved") return
  traces.recordAttempt({
    notification: notification.id,
    subscription: id,
    channel,
    sequence,
    attempt: attempt + 1,
    outcome: outcome.verdict,
    isFailure: outcome.verdict === "failed",
    code: "attempt" in outcome ? outcome.attempt?.code : undefined,
    startedAt,
    endedAt: clock.currentTimeMillisUnsafe()
  })
}

/** Balance after the notification that has taken the first credit below zero. */
const firstDebt = -1

/** Publishes that the credits of an account are used up. */
const makeReportAllowance = Effect.map(
  EventLog,
  (events) => ({ subscription: { accountId, face } }: State) =>
    face === "hub"
      ? Effect.void
      : events.publish({ type: "account.out_of_allowance", accountId, credits: firstDebt })
)
/** Shows the attempt on the open pages. A delivery that was not attempted is left out. */
const publishAttempt = (live: LiveFeed, state: State, delivery: Delivery, outcome: Outcome, at: number): void => {
  if (!("attempt" in outcome) && outcome.verdict !== "delivered") return
  const { accountId, endpoint, id, topic } = state.subscription
  const { attempt: result } = outcome
  live.publish({
    _tag: "Delivery",
    at,
    accountId,
    subscriptionId: id,
    topic,
    endpoint,
    sequence: delivery.sequence,
    attempt: delivery.attempt + 1,
    isDelivered: outcome.verdict === "delivered",
    code: result?.code ?? 0,
    message: result?.message ?? ""
  })
}

/** Without the callback itself, whose query may hold a secret. */
const logAttempt = (
  { subscription: { channel, host, id } }: State,
  { attempt, sequence }: Delivery,
  outcome: Outcome
) =>
  Effect.logDebug("A delivery was tried.").pipe(Effect.annotateLogs({
    subscription: id,
    channel,
    host,
    sequence,
    attempt: attempt + 1,
    outcome: outcome.verdict
  }))

/** Whether all attempts for a stranger have failed for a day. The time begins anew after an outage of the service. */
const hasLeaseEndedByFailures = ({ failing, lastAttemptAt = 0, outageEndedAt, subscription }: State): boolean =>
  isOfStranger(subscription) && outageEndedAt === undefined && failing !== undefined &&
  lastAttemptAt - failing.since >= maxStrangerFailingMs

const describeEnd = (last: AttemptResult): AttemptResult => ({
  ...last,
  message: `All attempts have failed for 24 h, which ends the lease. The last one: ${last.message}`
})

/** Pause of a callback after its first hung notification, in ms. */
const firstPauseMs = 15_000

/** Maximum pause of a hanging callback, in ms. Longer waits would count as an absence of the sender. */
const maxPauseMs = 240_000

/**
 * Pauses a callback whose dropped notification ended in silence: 15 s before the next notification, then 30, 60, 120 and 240 s.
 *
 * Each attempt of a hanging callback takes a place for 10 s, which the slow callbacks of its host need. The waits between the attempts of
 * one notification stay.
 */
const pauseIfHanging = (state: State, now: number): void => {
  state.hungNotifications = state.callback.speed === "hung" ? state.hungNotifications + 1 : 0
  state.pausedUntil = state.hungNotifications === 0
    ? undefined
    : now + Math.min(firstPauseMs * 2 ** (state.hungNotifications - 1), maxPauseMs)
}

/** Postpones a failed delivery by its next wait, or drops the delivery when its schedule has ended. */
const makeHandleFailure = Effect.fnUntraced(function*(retry: DeliveryRetrySteps) {
  const outbox = yield* Outbox
  const health = yield* makeCallbackHealth

  /** Records the end of an outage only at the first failure afterwards, because most deliveries succeed and need no record. */
  const recordOutageEnd = Effect.fnUntraced(function*(state: State, delivery: Delivery) {
    const { outageEndedAt, subscription, window } = state
    if (outageEndedAt === undefined) return delivery
    yield* whenAvailable(outbox.restartWaiting(subscription.id, outageEndedAt))
    yield* health.recordOutageEnd(state, outageEndedAt)
    state.outageEndedAt = undefined
    restartWaits(window, outageEndedAt)
    return window.deliveries[0] ?? delivery
  })

  /** Drops the deliveries behind one that was too old, without an attempt: attempts would take longer than new deliveries need to come. */
  const dropOlder = Effect.fnUntraced(function*({ subscription, window }: State, before: number) {
    const dropped = yield* whenAvailable(outbox.dropOlder(subscription.id, before))
    removeOlder(window, before)
    if (dropped > 0) {
      yield* Effect.logWarning("Notifications are dropped untried, because they have waited for too long.").pipe(
        Effect.annotateLogs({ subscription: subscription.id, dropped })
      )
    }
  })

  /** Sends the halves next: the window forgets all deliveries, because their sequences have moved. Returns false for an unsplit delivery. */
  const split = Effect.fnUntraced(function*({ window }: State, delivery: Delivery, result: AttemptResult) {
    const isSplit = yield* whenAvailable(outbox.split(delivery, result))
    if (isSplit) release(window)
    return isSplit
  })

  /** Holds the delivery behind a dropped one back until the next probe: a callback that fails for long is not hammered. */
  const hold = Effect.fnUntraced(function*({ subscription, window }: State, wait: number, now: number) {
    yield* whenAvailable(outbox.hold(subscription.id, now + wait, wait))
    forget(window)
  })

  const drop = Effect.fnUntraced(function*(state: State, delivery: Delivery, result: AttemptResult, now: number) {
    yield* whenAvailable(outbox.drop(delivery, result))
    yield* Effect.logWarning("A notification is dropped after its last attempt.").pipe(
      Effect.annotateLogs({
        subscription: delivery.subscriptionId,
        sequence: delivery.sequence,
        reason: attemptText(result)
      })
    )
    state.window.deliveries.shift()
    const oldest = now - maxWaitingMs[state.retry]
    if (delivery.waitsSince <= oldest) yield* dropOlder(state, oldest)
  })

  return Effect.fnUntraced(function*(state: State, tried: Delivery, { attempt, requestedWait }: Failure) {
    const isTooLarge = needsSplit(tried, state.subscription, attempt.code)
    if (isTooLarge && (yield* split(state, tried, attempt))) return undefined
    const result = isTooLarge ? describeUnsplit(attempt, tried) : attempt
    const delivery = yield* recordOutageEnd(state, tried)
    const { deliveries } = state.window
    const now = yield* Clock.currentTimeMillis
    const since = yield* health.recordFailure(state, result, now)
    const failed = delivery.attempt + 1
    const schedule = scheduleAfter(state.retry, result.code)
    const planned = retry.waitAfter(schedule, failed, now - since)
    const wait = planned === undefined
      ? undefined
      : Math.max(waitBeforeEnd(planned, since, now, state.subscription), requestedWait ?? 0)
    const next = afterFailure(wait, delivery.waitsSince, now, maxWaitingMs[schedule])
    if (next._tag === "Retry") {
      const { requestedWait: _, ...others } = delivery
      const postponed = requestedWait === undefined ? others : { ...others, requestedWait }
      yield* whenAvailable(outbox.postpone(postponed, next.dueAt, result))
      deliveries[0] = { ...postponed, attempt: failed, dueAt: next.dueAt }
    } else {
      yield* drop(state, delivery, result, now)
      if (schedule === "short") pauseIfHanging(state, now)
      else yield* hold(state, wait ?? retry.waitAfter(schedule, 1, now - since) ?? 0, now)
    }
    yield* health.pauseIfLong(state, now)
  })
})

/** The last attempt before a pause or the end of a lease comes at that time. */
const waitBeforeEnd = (wait: number, since: number, now: number, subscription: Subscription): number => {
  const left = since + (isOfStranger(subscription) ? maxStrangerFailingMs : maxFailingMs) - now
  return left > 0 ? Math.min(wait, left) : wait
}
