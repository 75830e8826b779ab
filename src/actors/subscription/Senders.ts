import { Clock, Context, Effect, Layer } from "effect"
import { classifyStatus, describeResponse, parcel, render, type Rendered } from "#domain/delivery/Delivery.ts"
import type { AttemptResult, Delivery, Notification } from "#domain/delivery/Notification.ts"
import { Deliverer, type DeliveryResponse } from "#domain/ports/Deliverer.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { Channel, Subscription } from "#domain/Subscription.ts"
import { DeliveryLimiter } from "#actors/limits/DeliveryLimiter.ts"
import { countDelivery } from "#actors/runtime/Metrics.ts"
import type { ShardLease } from "#actors/cluster/ShardLease.ts"

/** How a try went. It was none when the channel is not served for the moment (`away`), or the runner not sure any more (`withheld`). */
export type Outcome = Success | Failure | { readonly verdict: "away" | "withheld" }

/** A channel without answers has none for the log. */
interface Success {
  readonly verdict: "delivered"
  readonly answer?: DeliveryResponse
}

/** `ended`: the receiver says that there is no use in another one, and so ends the subscription. */
interface Failure {
  readonly verdict: "ended" | "failed"
  readonly attempt: AttemptResult
}

/**
 * One try of a delivery; returns when it is known how it went.
 *
 * `isSure` is asked as late as can be: what waits for a place or a connection waits long enough for another runner to take over.
 */
export type Sender = (
  delivery: Delivery,
  subscription: Subscription,
  isSure: ShardLease["isHeld"]
) => Effect.Effect<Outcome>

/** The ways out, by channel. One that is missing is not served: its deliveries wait in the outbox. */
export class Senders extends Context.Service<Senders, { readonly [channel in Channel]?: Sender }>()(
  "windhover/actors/subscription/Senders"
) {}

/** Those that are always there: callbacks, and the null device. */
export const layer = Layer.effect(
  Senders,
  Effect.gen(function*() {
    const deliverer = yield* Deliverer
    const settings = yield* Settings
    const lanes = new DeliveryLimiter(settings.maxDeliveries, yield* Clock.Clock)
    const rendering = renderOnce(settings)

    const webhook: Sender = Effect.fnUntraced(function*(delivery, subscription, isSure) {
      const rendered = rendering(delivery.notification, subscription)
      const posted = deliverer.post(parcel(subscription, delivery, rendered, settings), isSure)
      const outcome = yield* lanes.run(subscription.host, posted).pipe(
        Effect.map(outcomeOf),
        Effect.catchTag(
          "DeliveryError",
          ({ message, reason }) =>
            Effect.succeed(reason._tag === "Withheld" ? withheld : failure("failed", { code: 0, message }))
        )
      )
      if (outcome.verdict !== "withheld") yield* countDelivery(outcome.verdict)
      return outcome
    })

    return Senders.of({ webhook, null: () => Effect.succeed({ verdict: "delivered" }) })
  })
)

const outcomeOf = (answer: DeliveryResponse): Success | Failure => {
  const meaning = classifyStatus(answer.status)
  return meaning === "delivered" ? { verdict: meaning, answer } : failure(meaning, describeResponse(answer))
}

const withheld = { verdict: "withheld" } as const

const failure = (verdict: Failure["verdict"], attempt: AttemptResult): Success | Failure => ({ verdict, attempt })

/** Subscribers who wrote the topic alike, through the same face, and chose the same format get the same bytes, rendered once while the notification is in memory. */
const renderOnce = (settings: Settings["Service"]) => {
  const kept = new WeakMap<Notification, Map<string, Rendered>>()
  return (notification: Notification, subscription: Subscription): Rendered => {
    const { face, feedsOnly, format, topic } = subscription
    let bodies = kept.get(notification)
    if (bodies === undefined) kept.set(notification, bodies = new Map<string, Rendered>())
    const key = `${face} ${format ?? ""} ${feedsOnly === true} ${topic}`
    let rendered = bodies.get(key)
    if (rendered === undefined) bodies.set(key, rendered = render(notification, subscription, settings))
    return rendered
  }
}
