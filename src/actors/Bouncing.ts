import { Effect, Option } from "effect"
import { type Bounce, verdict } from "#domain/Bounce.ts"
import { BounceStore, type Resumed } from "#domain/ports/BounceStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import * as Topic from "#domain/Topic.ts"
import { Partitions } from "./Runner.ts"

/**
 * What notifications that come back mean for their subscription. It is marked, and nothing else: nothing is sent again, and no credit given back.
 *
 *   active ──── gone ─────────────────────────────────► ended, as by a 410 of a callback
 *      │ ▲
 *      │ └───── subscribed again, or the JID is heard of
 *      └─────── 5 lasting ones in a row, over an hour ──► paused: nothing is sent, nothing is counted
 */
export const makeBouncing = Effect.gen(function*() {
  const bounces = yield* BounceStore
  const log = yield* DeliveryLog
  const partitions = yield* Partitions
  const subscriptions = yield* SubscriptionStore

  const partitionOf = ({ topic }: Subscription): number => {
    const read = Topic.parse(topic)
    return read._tag === "Success" ? Topic.partitionOf(read.success.host) : 0
  }

  const end = Effect.fnUntraced(function*(subscription: Subscription, { message, sequence }: Bounce) {
    const { accountId, endpoint, id: subscriptionId, topic } = subscription
    const partition = partitionOf(subscription)
    const last = { subscriptionId, topic, endpoint, sequence, attempt: 0, code: 0, message }
    yield* log.ended({ fate: "ended", accountId, ...last })
    yield* subscriptions.remove(subscription.id)
    yield* partitions.forget(partition, subscription.id)
    yield* partitions.reloadResource(partition, subscription.resourceId)
    yield* Effect.logInfo(`subscription ${subscription.id} is ended by its receiver: ${message}`)
  })

  const pause = Effect.fnUntraced(function*(subscription: Subscription, { message }: Bounce) {
    if (!(yield* bounces.pause(subscription.id))) return
    const partition = partitionOf(subscription)
    yield* partitions.reloadSubscription(partition, subscription.id)
    yield* partitions.reloadResource(partition, subscription.resourceId)
    yield* Effect.logWarning(
      `subscription ${subscription.id} is paused, since nothing reaches its receiver: ${message}`
    )
  })

  const bounced = Effect.fn("Hub.bounced")(function*(bounce: Bounce) {
    const known = yield* bounces.record(bounce)
    const subscription = yield* subscriptions.load(bounce.subscriptionId)
    if (Option.isNone(known) || Option.isNone(subscription)) return
    const decided = verdict(bounce.severity, known.value)
    if (decided === "ended") yield* end(subscription.value, bounce)
    if (decided === "paused") yield* pause(subscription.value, bounce)
  }, Effect.catchTag("StoreError", ({ message }) => Effect.logWarning(`a bounce is not marked: ${message}`)))

  const resumed = Effect.fnUntraced(
    function*(them: Effect.Effect<ReadonlyArray<Resumed>, StoreError>) {
      for (const { id, partition, resourceId } of yield* them) {
        yield* partitions.reloadSubscription(partition, id)
        yield* partitions.reloadResource(partition, resourceId)
        yield* Effect.logInfo(`subscription ${id} goes on, since its receiver is back`)
      }
      return true
    },
    Effect.catchTag(
      "StoreError",
      ({ message }) => Effect.as(Effect.logWarning(`paused subscriptions stay so: ${message}`), false)
    )
  )

  const heardOf = Effect.fn("Hub.heardOf")((jid: string) => resumed(bounces.resume(jid)))

  const heardOfDomain = Effect.fn("Hub.heardOfDomain")((accountId: number, domain: string) =>
    resumed(bounces.resumeDomain(accountId, domain))
  )

  return { bounced, heardOf, heardOfDomain }
})
