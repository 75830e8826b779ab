import { Option } from "effect"
import { addBounce, maxTrialDelayMs } from "#domain/delivery/Bounce.ts"
import { BounceStore } from "#domain/ports/BounceStore.ts"
import { logFailure } from "./DeliveryLog.ts"
import { operation, type State, type Subscriber } from "./State.ts"

export const make = (state: State): BounceStore["Service"] =>
  BounceStore.of({
    record: (bounce) =>
      operation(state, (now) => {
        const subscriber = state.subscriptions.get(bounce.subscriptionId)
        if (subscriber === undefined || bounce.sequence >= subscriber.nextSequence) return Option.none()
        const bounces = addBounce(subscriber.bounces, bounce, now)
        if (bounces === undefined) return Option.none()
        const { message, sequence } = bounce
        const result = { code: 0, message, reason: "bounced" } as const
        logFailure(state, subscriber, now, { outcome: "bounced", sequence, attempt: 0, result })
        subscriber.bounces = bounces
        return Option.some(bounces)
      }),
    pause: (subscriptionId, trialAt) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber?.subscription.state !== "active") return false
        subscriber.subscription = { ...subscriber.subscription, state: "paused" }
        subscriber.trialAt = trialAt
        subscriber.trial = undefined
        return true
      }),
    resume: (jid, limit) =>
      operation(
        state,
        () => activate(state, limit, (one) => isHalted(one) && one.subscription.endpoint === jid, forget)
      ),
    resumeDomain: (accountId, domain, limit) =>
      operation(state, () =>
        activate(
          state,
          limit,
          (one) => isHalted(one) && one.subscription.accountId === accountId && one.subscription.host === domain,
          forget
        )),
    startTrials: (limit) =>
      operation(state, (now) =>
        activate(state, limit, ({ trialAt }) =>
          trialAt !== undefined && (trialAt <= now || trialAt > now + maxTrialDelayMs), (subscriber) => {
          const { bounces } = subscriber
          subscriber.bounces = bounces && { ...bounces, trials: bounces.trials + 1 }
          subscriber.trial = {}
        })),
    recordTrial: (subscriptionId, sent) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber?.trial !== undefined) {
          subscriber.trial = { sent }
        }
      }),
    endTrial: (subscriptionId, sequence) =>
      operation(state, () => {
        const subscriber = state.subscriptions.get(subscriptionId)
        if (subscriber?.trial === undefined) {
          return
        }
        if ((subscriber.bounces?.sequence ?? Infinity) < sequence) {
          forget(subscriber)
        } else subscriber.trial = {}
      })
  })

/** Something is held back from it. */
const isHalted = ({ subscription, trial }: Subscriber): boolean =>
  subscription.state === "paused" || trial !== undefined

const forget = (subscriber: Subscriber): void => {
  subscriber.bounces = undefined
  subscriber.trial = undefined
}

const activate = (
  state: State,
  limit: number,
  wanted: (subscriber: Subscriber) => boolean,
  change: (subscriber: Subscriber) => void
) =>
  [...state.subscriptions.values()].filter((subscriber) =>
    subscriber.subscription.channel === "xmpp" && wanted(subscriber)
  ).slice(0, limit).map((subscriber) => {
    subscriber.subscription = { ...subscriber.subscription, state: "active" }
    subscriber.trialAt = undefined
    change(subscriber)
    const { id, resourceId } = subscriber.subscription
    return { id, resourceId, partition: subscriber.partition }
  })
