import { Option } from "effect"
import { afterBounce } from "#domain/Bounce.ts"
import { placeInLog } from "#domain/Delivery.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): BounceStore["Service"] =>
  BounceStore.of({
    record: (bounce) =>
      operation(state, (now) => {
        const subscriber = state.subscriptions.get(bounce.subscriptionId)
        if (subscriber === undefined) return Option.none()
        const { message, sequence } = bounce
        subscriber.log.set(placeInLog(sequence, 0), { sequence, attempt: 0, triedAt: now, code: 0, message })
        subscriber.bounces = afterBounce(subscriber.bounces, bounce, now)
        return Option.some(subscriber.bounces)
      }),
    pause: (subscriptionId) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber?.subscription.state !== "active") return false
        subscriber.subscription = { ...subscriber.subscription, state: "paused" }
        return true
      }),
    resume: (jid) =>
      operation(state, () =>
        [...state.subscriptions.values()].flatMap((subscriber) => {
          const { channel, endpoint, id, resourceId, state: was } = subscriber.subscription
          if (channel !== "xmpp" || endpoint !== jid || was !== "paused") return []
          subscriber.subscription = { ...subscriber.subscription, state: "active" }
          subscriber.bounces = undefined
          return [{ id, resourceId, partition: subscriber.partition }]
        }))
  })
