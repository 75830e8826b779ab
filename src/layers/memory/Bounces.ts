import { Option } from "effect"
import { afterBounce } from "#domain/Bounce.ts"
import { placeInLog } from "#domain/Delivery.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import { operation, type State, type Subscriber } from "./State.ts"

export const make = (state: State): BounceStore["Service"] =>
  BounceStore.of({
    record: (bounce) =>
      operation(state, (now) => {
        const subscriber = state.subscriptions.get(bounce.subscriptionId)
        if (subscriber === undefined || bounce.sequence >= subscriber.nextSequence) return Option.none()
        const bounces = afterBounce(subscriber.bounces, bounce, now)
        if (bounces === undefined) return Option.none()
        const { message, sequence } = bounce
        subscriber.log.set(placeInLog(sequence, 0), { sequence, attempt: 0, triedAt: now, code: 0, message })
        subscriber.bounces = bounces
        return Option.some(bounces)
      }),
    pause: (subscriptionId, trialAt) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber?.subscription.state !== "active") return false
        subscriber.subscription = { ...subscriber.subscription, state: "paused" }
        subscriber.trialAt = trialAt
        return true
      }),
    resume: (jid, limit) =>
      operation(state, () => activate(state, limit, ({ subscription }) => subscription.endpoint === jid, forget)),
    resumeDomain: (accountId, domain, limit) =>
      operation(state, () =>
        activate(
          state,
          limit,
          ({ subscription }) => subscription.accountId === accountId && subscription.host === domain,
          forget
        )),
    startTrials: (limit) =>
      operation(state, (now) =>
        activate(state, limit, ({ trialAt = Infinity }) => trialAt <= now, (subscriber) => {
          const { bounces } = subscriber
          subscriber.bounces = bounces && { ...bounces, trials: bounces.trials + 1 }
        })),
    endTrial: (subscriptionId, sequence) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if ((subscriber?.bounces?.sequence ?? Infinity) < sequence && subscriber !== undefined) forget(subscriber)
      })
  })

const forget = (subscriber: Subscriber): void => void (subscriber.bounces = undefined)

const activate = (
  state: State,
  limit: number,
  wanted: (subscriber: Subscriber) => boolean,
  change: (subscriber: Subscriber) => void
) =>
  [...state.subscriptions.values()].filter((subscriber) => {
    const { channel, state } = subscriber.subscription
    return channel === "xmpp" && state === "paused" && wanted(subscriber)
  }).slice(0, limit).map((subscriber) => {
    subscriber.subscription = { ...subscriber.subscription, state: "active" }
    subscriber.trialAt = undefined
    change(subscriber)
    const { id, resourceId } = subscriber.subscription
    return { id, resourceId, partition: subscriber.partition }
  })
