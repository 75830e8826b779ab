import { Context, Effect, Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import * as DeliveryLimiter from "./DeliveryLimiter.ts"

/** Deliveries in flight to prompt callbacks of one host. */
const maxPerHost = 32

/** The limiter of all requests of this runner to callbacks: deliveries, and test notifications. */
export class CallbackLimiter extends Context.Service<CallbackLimiter, DeliveryLimiter.DeliveryLimiter>()(
  "windhover/actors/limits/CallbackLimiter"
) {
  /** Users of this layer in one program share a limiter. */
  static readonly layer = Layer.effect(
    CallbackLimiter,
    Effect.flatMap(Settings, ({ maxDeliveries }) =>
      DeliveryLimiter.make({
        maxDeliveries,
        maxPerHost: Math.min(maxPerHost, Math.ceil(maxDeliveries / 8)),
        maxOverdue: maxDeliveries
      }))
  )
}
