import { Option } from "effect"
import { afterBounce } from "#domain/Bounce.ts"
import { placeInLog } from "#domain/Delivery.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
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
    resume: (jid) => resumeAll(state, ({ endpoint }) => endpoint === jid),
    resumeDomain: (accountId, domain) =>
      resumeAll(state, (subscription) => subscription.accountId === accountId && subscription.host === domain)
  })

const resumeAll = (state: State, wanted: (subscription: Subscription) => boolean) =>
  operation(state, () =>
    [...state.subscriptions.values()].flatMap((subscriber) => {
      const { channel, id, resourceId, state: was } = subscriber.subscription
      if (channel !== "xmpp" || was !== "paused" || !wanted(subscriber.subscription)) return []
      subscriber.subscription = { ...subscriber.subscription, state: "active" }
      subscriber.bounces = undefined
      return [{ id, resourceId, partition: subscriber.partition }]
    }))
