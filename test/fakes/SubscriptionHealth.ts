import { SubscriptionHealth } from "#domain/ports/SubscriptionHealth.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): SubscriptionHealth["Service"] =>
  SubscriptionHealth.of({
    saveFailing: (subscriptionId, failing) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber === undefined) return
        const { failing: _, ...others } = subscriber.subscription
        subscriber.subscription = failing === undefined ? others : { ...others, failing }
      }),
    pause: (subscriptionId) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber?.subscription.state !== "active") return false
        subscriber.subscription = { ...subscriber.subscription, state: "paused" }
        subscriber.trial = undefined
        return true
      }),
    resume: (subscriptionId) =>
      operation(state, (now) => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber === undefined || subscriber.subscription.state === "pending") return undefined
        const { failing, ...others } = subscriber.subscription
        subscriber.subscription = {
          ...others,
          state: "active",
          ...(failing !== undefined && { failing: { since: now, announced: 1 } })
        }
        subscriber.trialAt = undefined
        subscriber.trial = undefined
        subscriber.bounces = undefined
        for (const [id, one] of subscriber.queue) {
          const { requestedWait: _, ...delivery } = { ...one.delivery, attempt: 0, dueAt: now, waitsSince: now }
          if (!one.dropped) subscriber.queue.set(id, { ...one, delivery })
        }
        return { id: subscriptionId, resourceId: others.resourceId, partition: subscriber.partition }
      })
  })
