import { Clock, Effect } from "effect"
import { hasTrialArrived, type Trial, trialTimeMs } from "#domain/delivery/Bounce.ts"
import type { Delivery } from "#domain/delivery/Notification.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import type { Self } from "#actors/runtime/Actor.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import type { Message, State } from "./Subscription.ts"

/** The trial of a subscription after its pause: one notification is sent, and the next one after its arrival is known. */
export const makeDeliveryTrial = Effect.map(BounceStore, (bounces) => ({
  /** Records the sent notification, so that no later owner sends another one. A bounce pauses the subscription, and reloads it. */
  start: Effect.fnUntraced(function*(state: State, { sequence }: Delivery) {
    state.trial = { sequence, until: (yield* Clock.currentTimeMillis) + trialTimeMs }
    yield* whenAvailable(bounces.recordTrial(state.subscription.id, state.trial))
  }),

  /** Returns the end of a running trial (epoch ms). Undefined after the trial: the subscription is loaded again. */
  check: Effect.fnUntraced(function*(self: Self<State, Message>, sent: NonNullable<Trial["sent"]>) {
    self.pinned = !hasTrialArrived(sent, yield* Clock.currentTimeMillis)
    if (self.pinned) return sent.until
    yield* whenAvailable(bounces.endTrial(self.id, sent.sequence))
    self.state = undefined
    return undefined
  })
}))
