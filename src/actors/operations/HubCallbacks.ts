import { Clock, Effect, Option } from "effect"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { type Refusal, refuse, Unavailable } from "#domain/Refusal.ts"
import { agreed, type HubSubscription, type Intent, receives } from "#domain/websub/HubSubscription.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { orRefuse } from "./Refusing.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** What hubs of publishers send to the callbacks of this service, at whichever runner. */
export interface HubCallbacks {
  /** Whether the subscription of a callback wants what its hub asks or tells. */
  readonly agree: (callback: string, intent: Intent) => Effect.Effect<boolean, Refusal>
  /** The subscription of a callback, when it takes what is pushed. */
  readonly receiver: (callback: string) => Effect.Effect<Receiver | undefined, Refusal>
  /** What is new in the document is stored when it returns. */
  readonly push: (receiver: Receiver, document: PushedDocument) => Effect.Effect<void, Refusal>
}

export interface Receiver extends Pick<HubSubscription, "resourceId" | "partition" | "hub"> {
  readonly secret: string
}

/** A row that changes so often while it is looked at is left to the hub's next try. */
const tries = 5

export const makeHubCallbacks = Effect.gen(function*() {
  const store = yield* HubSubscriptionStore
  const partitions = yield* Partitions
  const scope = yield* Effect.scope

  const agree = Effect.fn("PublishersHubs.agree")(function*(callback: string, intent: Intent) {
    for (let i = 0; i < tries; i++) {
      const known = Option.getOrUndefined(yield* orRefuse(store.byCallback(callback)))
      const next = known === undefined ? undefined : agreed(known, intent, yield* Clock.currentTimeMillis)
      if (next === undefined) return false
      if (!(yield* orRefuse(store.save(next)))) continue
      yield* Effect.forkIn(partitions.reloadHubSubscription(next.partition, next.resourceId), scope)
      return true
    }
    return yield* later
  })

  const receiver = Effect.fn("PublishersHubs.receiver")(function*(callback: string) {
    const known = Option.getOrUndefined(yield* orRefuse(store.byCallback(callback)))
    if (known?.secret === undefined || !receives(known)) return undefined
    const { hub, partition, resourceId, secret } = known
    return { hub, partition, resourceId, secret } satisfies Receiver
  })

  const push = Effect.fn("PublishersHubs.push")(
    function*({ partition, resourceId }: Receiver, document: PushedDocument) {
      if (!(yield* partitions.hubPush(partition, resourceId, document))) return yield* later
    }
  )

  return { agree, receiver, push } satisfies HubCallbacks
})

const later = Effect.fail(
  refuse(
    new Unavailable({ message: "The news could not be stored for the moment. Please send them again.", retryAfter: 10 })
  )
)
