import { Clock, Context, Effect, Layer } from "effect"
import {
  classifyStatus,
  describeFailedAttempt,
  describeSilence,
  describeSuccess,
  parcel,
  render,
  type Rendered,
  requestedWait
} from "#domain/delivery/Delivery.ts"
import type { AttemptResult, Delivery, Notification } from "#domain/delivery/Notification.ts"
import { Deliverer, type DeliveryError, type DeliveryResponse } from "#domain/ports/Deliverer.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type Channel, isOfStranger, type Subscription } from "#domain/Subscription.ts"
import { CallbackLimiter } from "#actors/limits/CallbackLimiter.ts"
import type * as DeliveryLimiter from "#actors/limits/DeliveryLimiter.ts"
import { countDelivery, deliveryLag, observe } from "#actors/runtime/Metrics.ts"
import type { ShardLease } from "#actors/runtime/ShardLease.ts"
import { networkOf, StrangerLimits } from "./StrangerLimits.ts"

/** Outcome of an attempt. No request was sent when the channel has no sender (`unserved`) or the runner lost the lease (`lease-lost`). */
export type Outcome = Success | Failure | { readonly verdict: "unserved" | "lease-lost" }

/** The null device logs no success. */
interface Success {
  readonly verdict: "delivered"
  readonly attempt?: AttemptResult
}

/** `ended`: the receiver does not exist any more, which ends the subscription. */
export interface Failure {
  readonly verdict: "ended" | "failed"
  readonly attempt: AttemptResult
  /** Milliseconds, see `Delivery`. */
  readonly requestedWait?: number | undefined
  /** The callback's name leads to another network than the one that agreed. */
  readonly isElsewhere?: boolean | undefined
}

/**
 * One attempt of a delivery; returns its outcome.
 *
 * The sender checks the lease as late as possible, because another runner may take over while it waits for a slot or a connection.
 */
export type Sender = (
  delivery: Delivery,
  subscription: Subscription,
  isLeaseHeld: ShardLease["isHeld"],
  callback: DeliveryLimiter.CallbackRecord
) => Effect.Effect<Outcome>

/** The senders by channel. Deliveries of a channel without a sender wait in the outbox. */
export class Senders extends Context.Service<Senders, { readonly [channel in Channel]?: Sender }>()(
  "windhover/actors/subscription/Senders"
) {}

/** The senders of every runner: callbacks, and the null device. */
export const layer = Layer.effect(
  Senders,
  Effect.gen(function*() {
    const deliverer = yield* Deliverer
    const settings = yield* Settings
    const clock = yield* Clock.Clock
    const limiter = yield* CallbackLimiter
    const renderShared = renderOnce(settings)
    const strangerLimits = new StrangerLimits()

    const webhook: Sender = (delivery, subscription, isLeaseHeld, callback) => {
      if (subscription.unreadable !== undefined) return Effect.succeed(unreadable(subscription.unreadable))
      const rendered = renderShared(delivery.notification, subscription)
      const bytes = rendered.body.length
      const isStranger = isOfStranger(subscription)
      const refused = isStranger
        ? strangerLimits.refuse(rendered, delivery, subscription, callback, clock.currentTimeMillisUnsafe())
        : undefined
      if (refused !== undefined) return Effect.succeed(refused)
      // Thousands of deliveries may wait for their turn, so that the request is made afterwards.
      const post = Effect.suspend(() => {
        const plain = parcel(subscription, delivery, rendered, settings, clock.currentTimeMillisUnsafe())
        const guarded = isStranger ? strangerLimits.guard(plain, delivery, subscription, callback) : plain
        return deliverer.post(guarded, isLeaseHeld)
      })
      const count = <O extends Success | Failure | { readonly verdict: "lease-lost" }>(outcome: O): O => {
        if (isStranger) {
          strangerLimits.record(rendered, subscription, callback, outcome, clock.currentTimeMillisUnsafe())
        }
        if (outcome.verdict !== "lease-lost") countDelivery(outcome.verdict)
        if (outcome.verdict === "delivered") {
          observe(deliveryLag, Math.max(clock.currentTimeMillisUnsafe() - delivery.waitsSince, 0) / 1000)
        }
        return outcome
      }
      return Effect.match(limiter.run(isStranger ? networkOf(subscription) : subscription.host, callback, post), {
        onFailure: (error) => count(outcomeOfError(error, bytes)),
        onSuccess: (answer) => count(outcomeOf(answer, delivery, subscription, clock, bytes))
      })
    }

    return Senders.of({ webhook, null: () => Effect.succeed({ verdict: "delivered" }) })
  })
).pipe(Layer.provide(CallbackLimiter.layer))

const outcomeOf = (
  answer: DeliveryResponse,
  delivery: Delivery,
  subscription: Subscription,
  clock: Clock.Clock,
  bytes: number
): Success | Failure => {
  const verdict = classifyStatus(answer.status)
  if (verdict === "delivered") return { verdict, attempt: describeSuccess(answer, bytes) }
  const now = clock.currentTimeMillisUnsafe()
  const attempt = describeFailedAttempt(answer, delivery, subscription, now, bytes)
  return { verdict, attempt, requestedWait: requestedWait(answer, now), isElsewhere: answer.isElsewhere }
}

/** Not sent: without its secret, the notification would be unsigned. */
const unreadable = (reason: string): Failure => ({
  verdict: "failed",
  attempt: {
    code: 0,
    message:
      `The stored secret or headers of the subscription cannot be decrypted, so that nothing was sent. ${reason} `
      + "Subscribe again with hub.secret and hub.header, or restore the encryption key.",
    reason: "secret"
  }
})

const outcomeOfError = (
  { isElsewhere, message, reason: { _tag } }: DeliveryError,
  bytes: number
): Failure | { readonly verdict: "lease-lost" } =>
  _tag === "LeaseLost"
    ? { verdict: "lease-lost" }
    : { verdict: "failed", attempt: describeSilence({ message, reason: { _tag } }, bytes), isElsewhere }

/** Subscriptions with equal topic, face and format get the same bytes, rendered once while the notification is in memory. */
const renderOnce = (settings: Settings["Service"]) => {
  const renderedByNotification = new WeakMap<Notification, Map<string, Rendered>>()
  return (notification: Notification, subscription: Subscription): Rendered => {
    const { face, feedsOnly, format, topic } = subscription
    let bodies = renderedByNotification.get(notification)
    if (bodies === undefined) renderedByNotification.set(notification, bodies = new Map<string, Rendered>())
    const key = `${face} ${format ?? ""} ${feedsOnly === true} ${topic}`
    let rendered = bodies.get(key)
    if (rendered === undefined) bodies.set(key, rendered = render(notification, subscription, settings))
    return rendered
  }
}
