import { DateTime, Effect, Layer, Option, Schedule } from "effect"
import { type Bounce, decideBounce, nextTrialAt } from "#domain/delivery/Bounce.ts"
import { BounceStore, type ResumedSubscription } from "#domain/ports/BounceStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import { superviseLoop } from "#actors/runtime/Supervision.ts"

/** Subscriptions that are made active at once, at most; the others follow. */
const batch = 100

/** Their owners are told of so many at once. */
const concurrency = 8

/** Their owners look at the database again. */
const makeReload = Effect.gen(function*() {
  const partitions = yield* Partitions
  return (resumed: ReadonlyArray<ResumedSubscription>) =>
    Effect.forEach(resumed, ({ id, partition, resourceId }) =>
      Effect.andThen(
        partitions.reloadSubscription(partition, id),
        partitions.reloadResource(partition, resourceId)
      ), { concurrency, discard: true })
})

/**
 * What notifications that come back mean for their subscription. It is marked, and nothing else: nothing is sent again, and no credit given back.
 *
 *   active ──── gone ─────────────────────────────────► ended, as by a 410 of a callback
 *      │ ▲
 *      │ ├───── subscribed again, or the JID is heard of
 *      │ └───── its trial arrived ◄── on trial: one notification is sent, then nothing until it is known to have arrived
 *      │                                 │  ▲
 *      │                      came back  ▼  │ after 1 h, then 2, 4, 8, 16, 24 h
 *      └─────── 5 lasting ones in a row, over an hour ──► paused: nothing is sent, nothing is counted
 */
export const makeBounces = Effect.gen(function*() {
  const bounces = yield* BounceStore
  const log = yield* DeliveryLog
  const partitions = yield* Partitions
  const subscriptions = yield* SubscriptionStore
  const reload = yield* makeReload
  const scope = yield* Effect.scope

  const partitionOf = ({ topic }: Subscription): number => {
    const read = Topic.parse(topic)
    return read._tag === "Success" ? Topic.partitionOf(read.success.host) : 0
  }

  const end = Effect.fnUntraced(function*(subscription: Subscription, { message, sequence }: Bounce) {
    const { accountId, endpoint, id: subscriptionId, topic } = subscription
    const partition = partitionOf(subscription)
    const last = { subscriptionId, topic, endpoint, sequence, attempt: 0, code: 0, message }
    yield* log.recordEnd({ fate: "ended", accountId, ...last })
    yield* subscriptions.remove(subscription.id)
    yield* partitions.forget(partition, subscription.id)
    yield* partitions.reloadResource(partition, subscription.resourceId)
    yield* Effect.logInfo(`subscription ${subscription.id} is ended by its receiver: ${message}`)
  })

  const pause = Effect.fnUntraced(function*(subscription: Subscription, { message }: Bounce, trialAt: number) {
    const { id, resourceId } = subscription
    if (!(yield* bounces.pause(id, trialAt))) return
    yield* reload([{ id, resourceId, partition: partitionOf(subscription) }])
    yield* Effect.logWarning(
      `subscription ${id} is paused, since nothing reaches its receiver, and tried at ${
        DateTime.formatIso(DateTime.makeUnsafe(trialAt))
      }: ${message}`
    )
  })

  const recordBounce = Effect.fn("Hub.recordBounce")(function*(bounce: Bounce) {
    const found = yield* subscriptions.load(bounce.subscriptionId)
    if (Option.isNone(found) || found.value.channel !== "xmpp" || found.value.endpoint !== bounce.from) return
    const known = yield* bounces.record(bounce)
    if (Option.isNone(known)) return
    const decided = decideBounce(bounce.severity, known.value)
    if (decided === "ended") yield* end(found.value, bounce)
    if (decided === "paused") yield* pause(found.value, bounce, nextTrialAt(known.value))
  }, Effect.catchTag("StoreError", ({ message }) => Effect.logWarning(`a bounce is not marked: ${message}`)))

  /** The first batch at once, so that whoever gave the sign of life finds their subscriptions active; nobody waits for the others. */
  const resumed = (take: (limit: number) => Effect.Effect<ReadonlyArray<ResumedSubscription>, StoreError>) => {
    const one = Effect.gen(function*() {
      const some = yield* take(batch)
      yield* reload(some)
      if (some.length > 0) {
        const ids = some.map(({ id }) => id).join(", ")
        yield* Effect.logInfo(`these subscriptions go on, since their receiver is back: ${ids}`)
      }
      return some.length === batch
    }).pipe(
      Effect.catchTag(
        "StoreError",
        ({ message }) => Effect.as(Effect.logWarning(`paused subscriptions stay so: ${message}`), undefined)
      )
    )
    const others = Effect.repeat(one, { until: (more) => more !== true })
    return Effect.gen(function*() {
      const more = yield* one
      if (more === true) yield* Effect.forkIn(others, scope)
      return more !== undefined
    })
  }

  const resumeJid = Effect.fn("Hub.resumeJid")((jid: string) => resumed((limit) => bounces.resume(jid, limit)))

  const resumeDomain = Effect.fn("Hub.resumeDomain")((accountId: number, domain: string) =>
    resumed((limit) => bounces.resumeDomain(accountId, domain, limit))
  )

  return { recordBounce, resumeJid, resumeDomain }
})

/** Lets paused subscriptions try one notification, when their time has come; whichever runner looks first. */
export const layerTrials = Layer.effectDiscard(Effect.gen(function*() {
  const bounces = yield* BounceStore
  const reload = yield* makeReload
  const start = Effect.gen(function*() {
    const started = yield* bounces.startTrials(batch)
    yield* reload(started)
    for (const { id } of started) yield* Effect.logInfo(`subscription ${id} is tried again, with one notification`)
  }).pipe(Effect.catchTag("StoreError", ({ message }) => Effect.logWarning(`trials wait: ${message}`)))
  yield* superviseLoop("trying paused subscriptions", start, Schedule.spaced("30 seconds"))
}))
