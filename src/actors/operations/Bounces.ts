import { DateTime, Effect, identity, Layer, Option, Schedule } from "effect"
import { type Bounce, type BounceHistory, decideBounce, nextTrialAt } from "#domain/delivery/Bounce.ts"
import { BounceStore, type ResumedSubscription } from "#domain/ports/BounceStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { type StoreError, warnOfStoreError } from "#domain/ports/StoreError.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { subscriptionFieldsOf } from "#domain/Event.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { endSubscription } from "#actors/subscription/EndSubscription.ts"
import { makePartitionOf } from "./ParseTopic.ts"
import { makeReloadSubscriptions } from "./ReloadSubscriptions.ts"

/** Subscriptions that one statement resumes, at most. */
const batchSize = 100

/**
 * The effect of returned notifications on their subscription. A bounce only marks the subscription: no message is sent again, and no credit
 * returned.
 *
 *   active ──── gone ─────────────────────────────────► ended, as by a 410 of a callback
 *      │ ▲
 *      │ ├───── subscribed again, or the JID shows a sign of life
 *      │ └───── the trial arrived ◄── on trial: one notification is sent, and the next one after its arrival is known
 *      │                                 │  ▲
 *      │                        bounced  ▼  │ after 1 h, then 2, 4, 8, 16, 24 h
 *      └─────── 5 lasting ones in a row, over an hour ──► paused: nothing is sent, nothing is counted
 */
export const makeBounces = Effect.gen(function*() {
  return { recordBounce: yield* makeRecordBounce, ...(yield* makeResume) }
})

const makeRecordBounce = Effect.gen(function*() {
  const bounces = yield* BounceStore
  const log = yield* DeliveryLog
  const events = yield* EventLog
  const partitions = yield* Partitions
  const subscriptions = yield* SubscriptionStore
  const reload = yield* makeReloadSubscriptions
  const partitionOf = yield* makePartitionOf

  const end = Effect.fnUntraced(function*(subscription: Subscription, { message, sequence }: Bounce) {
    const partition = partitionOf(subscription)
    const last = { sequence, attempt: 0, code: 0, message, reason: "bounced" } as const
    yield* endSubscription<StoreError>({ events, log, subscriptions }, identity, subscription, last)
    yield* partitions.forget(partition, subscription.id)
    yield* partitions.reloadResource(partition, subscription.resourceId)
  })

  const pause = Effect.fnUntraced(function*(subscription: Subscription, { message }: Bounce, history: BounceHistory) {
    const { id, resourceId } = subscription
    const trialAt = nextTrialAt(history)
    if (!(yield* bounces.pause(id, trialAt))) return
    yield* reload([{ id, resourceId, partition: partitionOf(subscription) }])
    yield* events.publish({
      type: "subscription.paused",
      ...subscriptionFieldsOf(subscription),
      code: 0,
      message,
      failingSince: history.since
    })
    yield* Effect.logWarning("A subscription is paused, because its receiver is unreachable.").pipe(
      Effect.annotateLogs({
        subscription: id,
        nextTrial: DateTime.formatIso(DateTime.makeUnsafe(trialAt)),
        reason: message
      })
    )
  })

  return Effect.fn("Hub.recordBounce")(function*(bounce: Bounce) {
    const found = yield* subscriptions.load(bounce.subscriptionId)
    if (Option.isNone(found) || found.value.channel !== "xmpp" || found.value.endpoint !== bounce.from) return
    const history = yield* bounces.record(bounce)
    if (Option.isNone(history)) return
    const decision = decideBounce(bounce.severity, history.value)
    if (decision === "ended") yield* end(found.value, bounce)
    if (decision === "paused") yield* pause(found.value, bounce, history.value)
  }, Effect.catchTag("StoreError", warnOfStoreError("A bounce could not be recorded.")))
})

const makeResume = Effect.gen(function*() {
  const bounces = yield* BounceStore
  const reload = yield* makeReloadSubscriptions
  const scope = yield* Effect.scope

  /** Returns true when more subscriptions may be paused, undefined when the database is unavailable. */
  const resumeBatch = (take: (limit: number) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>) =>
    Effect.gen(function*() {
      const resumed = yield* take(batchSize)
      yield* reload(resumed)
      if (resumed.length > 0) {
        yield* Effect.logInfo("Subscriptions resume, because their receiver is back.").pipe(
          Effect.annotateLogs({ subscriptions: resumed.map(({ id }) => id).join(", ") })
        )
      }
      return resumed.length === batchSize
    }).pipe(
      Effect.catchTag(
        "StoreError",
        (error) => Effect.as(warnOfStoreError("Paused subscriptions could not resume.")(error), undefined)
      )
    )

  /** The first batch at once, so that the receiver finds its subscriptions active; the others in the background. */
  const resume = Effect.fnUntraced(
    function*(take: (limit: number) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>) {
      const more = yield* resumeBatch(take)
      if (more === true) {
        yield* Effect.forkIn(Effect.repeat(resumeBatch(take), { until: (more) => more !== true }), scope)
      }
      return more !== undefined
    }
  )

  return {
    resumeJid: Effect.fn("Hub.resumeJid")((jid: string) => resume((limit) => bounces.resume(jid, limit))),
    resumeDomain: Effect.fn("Hub.resumeDomain")((accountId: number, domain: string) =>
      resume((limit) => bounces.resumeDomain(accountId, domain, limit))
    )
  }
})

/** Starts the due trials of paused subscriptions every 30 s; any runner may start them. */
export const layerTrials = Layer.effectDiscard(Effect.gen(function*() {
  const bounces = yield* BounceStore
  const reload = yield* makeReloadSubscriptions
  const start = Effect.gen(function*() {
    const started = yield* bounces.startTrials(batchSize)
    yield* reload(started)
    for (const { id } of started) {
      yield* Effect.logInfo("A paused subscription is on trial with one notification.").pipe(
        Effect.annotateLogs({ subscription: id })
      )
    }
  }).pipe(
    Effect.catchTag("StoreError", warnOfStoreError("Trials wait for the database."))
  )
  yield* superviseLoop("starting trials", start, Schedule.spaced("30 seconds"))
}))
