import { DateTime, Effect } from "effect"
import { type Failing, maxFailingMs, nextMilestoneAt, passMilestones } from "#domain/delivery/Retry.ts"
import { subscriptionFieldsOf } from "#domain/Event.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import type { AttemptResult } from "#domain/delivery/Notification.ts"
import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import type { State } from "./Subscription.ts"

/** The time for which all attempts of a subscription have failed, in ms; 0 after a success. */
export const failingMsOf = ({ failing }: State, now: number): number => failing === undefined ? 0 : now - failing.since

/** The changes of a subscription between working, failing and paused. A subscription that works costs no statement. */
export const makeCallbackHealth = Effect.gen(function*() {
  const health = yield* SubscriptionHealth
  const events = yield* EventLog

  const save = (state: State, failing: Failing | undefined) => {
    state.failing = failing
    return whenAvailable(health.saveFailing(state.subscription.id, failing))
  }

  /** Records the first failed attempt after a success. Returns the begin of the failing, epoch ms. */
  const recordFailure = Effect.fnUntraced(function*(state: State, result: AttemptResult, now: number) {
    state.lastFailure = result
    if (state.failing !== undefined) return state.failing.since
    yield* save(state, { since: now, announced: 0 })
    return now
  })

  /** Records the first success after a failed attempt. */
  const recordSuccess = Effect.fnUntraced(function*(state: State) {
    const { failing, subscription } = state
    if (failing === undefined) return
    yield* save(state, undefined)
    if (failing.announced === 0) return
    yield* events.publish({
      type: "subscription.recovered",
      ...subscriptionFieldsOf(subscription),
      failingSince: failing.since
    })
  })

  /** Moves the begin of the failing to the end of an outage: during the outage, no attempt could succeed. */
  const recordOutageEnd = Effect.fnUntraced(function*(state: State, endedAt: number) {
    const { failing } = state
    if (failing !== undefined && failing.since < endedAt) yield* save(state, { ...failing, since: endedAt })
  })

  /** Announces the milestones that have passed. Returns the earlier one of `until` and the next milestone, epoch ms. */
  const announce = Effect.fnUntraced(function*(state: State, until: number, now: number) {
    if (state.failing === undefined) return until
    const passed = passMilestones(state.failing, now)
    if (passed.announced > state.failing.announced) {
      yield* save(state, passed)
      yield* events.publish({
        type: "subscription.failing",
        ...failureOf(state),
        failingSince: passed.since,
        hours: passed.announced === 1 ? 1 : 24
      })
      yield* Effect.logWarning("The callback of a subscription has failed in all attempts for long.").pipe(
        Effect.annotateLogs({ subscription: state.subscription.id, since: isoOf(passed.since) })
      )
    }
    return Math.min(until, nextMilestoneAt(passed) ?? until)
  })

  /** Pauses a webhook that has failed for 5 days. JIDs are paused by their bounces. */
  const pauseIfLong = Effect.fnUntraced(function*(state: State, now: number) {
    const { failing, subscription } = state
    if (subscription.channel !== "webhook" || failing === undefined || now - failing.since < maxFailingMs) return
    state.isOutdated = true
    if (!(yield* whenAvailable(health.pause(subscription.id)))) return
    yield* events.publish({ type: "subscription.paused", ...failureOf(state), failingSince: failing.since })
    yield* Effect.logWarning(
      "A subscription is paused, because its callback has failed for 5 days. A resume makes the subscription active."
    ).pipe(Effect.annotateLogs({ subscription: subscription.id, since: isoOf(failing.since) }))
  })

  return { recordFailure, recordSuccess, recordOutageEnd, announce, pauseIfLong }
})

/** The subscription with its last failed attempt, which only the owner of that time knows. */
const failureOf = ({ lastFailure, subscription }: State) => ({
  ...subscriptionFieldsOf(subscription),
  code: lastFailure?.code ?? 0,
  message: lastFailure?.message ?? "The log of the deliveries has the last attempt."
})

const isoOf = (time: number): string => DateTime.formatIso(DateTime.makeUnsafe(time))
