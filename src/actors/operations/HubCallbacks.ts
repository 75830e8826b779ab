import { Clock, Effect, Option } from "effect"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { type Refusal, refuse, Unavailable } from "#domain/Refusal.ts"
import { acceptsPush, applyIntent, type HubIntent, type HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { refuseStoreErrors } from "./Refusing.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** What hubs of publishers send to the callbacks of this service, at whichever runner. */
export interface HubCallbacks {
  /** Whether the subscription of a callback wants what its hub asks or tells. */
  readonly confirmIntent: (callback: string, intent: HubIntent) => Effect.Effect<boolean, Refusal>
  /** The subscription of a callback, when it takes what is pushed. */
  readonly findReceiver: (callback: string) => Effect.Effect<PushReceiver | undefined, Refusal>
  /** What is new in the document is stored when it returns. */
  readonly acceptPush: (receiver: PushReceiver, document: PushedDocument) => Effect.Effect<void, Refusal>
}

export interface PushReceiver extends Pick<HubSubscription, "resourceId" | "partition" | "hub"> {
  readonly secret: string
}

/** A row that changes so often while it is looked at is left to the hub's next try. */
const tries = 5

export const makeHubCallbacks = Effect.gen(function*() {
  const store = yield* HubSubscriptionStore
  const partitions = yield* Partitions
  const scope = yield* Effect.scope

  const confirmIntent = Effect.fn("Hub.confirmIntent")(function*(callback: string, intent: HubIntent) {
    for (let i = 0; i < tries; i++) {
      const known = Option.getOrUndefined(yield* refuseStoreErrors(store.byCallback(callback)))
      const next = known === undefined ? undefined : applyIntent(known, intent, yield* Clock.currentTimeMillis)
      if (next === undefined) return false
      if (!(yield* refuseStoreErrors(store.save(next)))) continue
      yield* Effect.forkIn(partitions.reloadHubSubscription(next.partition, next.resourceId), scope)
      return true
    }
    return yield* later
  })

  const findReceiver = Effect.fn("Hub.findReceiver")(function*(callback: string) {
    const known = Option.getOrUndefined(yield* refuseStoreErrors(store.byCallback(callback)))
    if (known?.secret === undefined || !acceptsPush(known)) return undefined
    const { hub, partition, resourceId, secret } = known
    return { hub, partition, resourceId, secret } satisfies PushReceiver
  })

  const acceptPush = Effect.fn("Hub.acceptPush")(
    function*({ partition, resourceId }: PushReceiver, document: PushedDocument) {
      if (!(yield* partitions.hubPush(partition, resourceId, document))) return yield* later
    }
  )

  return { confirmIntent, findReceiver, acceptPush } satisfies HubCallbacks
})

const later = Effect.fail(
  refuse(
    new Unavailable({ message: "The news could not be stored for the moment. Please send them again.", retryAfter: 10 })
  )
)
