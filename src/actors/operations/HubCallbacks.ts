import { Clock, Effect, Option } from "effect"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { type Refusal, refuseUnavailable } from "#domain/Refusal.ts"
import { acceptsPush, applyIntent, type HubIntent, type HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"

/** Requests of publishers' hubs to the callbacks of this service; any runner answers them. */
export interface HubCallbacks {
  /** True when the subscription of a callback wants the hub's intent. */
  readonly confirmIntent: (callback: string, intent: HubIntent) => Effect.Effect<boolean, Refusal>
  /** The subscription of a callback, while it accepts pushes. */
  readonly findReceiver: (callback: string) => Effect.Effect<PushReceiver | undefined, Refusal>
  /** Returns when the new entries of the document are stored. */
  readonly acceptPush: (receiver: PushReceiver, document: PushedDocument) => Effect.Effect<void, Refusal>
}

export interface PushReceiver extends Pick<HubSubscription, "resourceId" | "partition" | "hub"> {
  readonly secret: string
}

/** Attempts to save a row that other requests change at the same time; the hub's own retry comes after them. */
const maxSaveAttempts = 5

export const makeHubCallbacks = Effect.gen(function*() {
  const store = yield* HubSubscriptionStore
  const partitions = yield* Partitions
  const scope = yield* Effect.scope

  const confirmIntent = Effect.fn("Hub.confirmIntent")(function*(callback: string, intent: HubIntent) {
    for (let attempt = 0; attempt < maxSaveAttempts; attempt++) {
      const known = Option.getOrUndefined(yield* refuseStoreErrors(store.byCallback(callback)))
      const next = known === undefined ? undefined : applyIntent(known, intent, yield* Clock.currentTimeMillis)
      if (next === undefined) return false
      if (!(yield* refuseStoreErrors(store.save(next)))) continue
      yield* Effect.forkIn(partitions.reloadHubSubscription(next.partition, next.resourceId), scope)
      return true
    }
    return yield* retryLater
  })

  const findReceiver = Effect.fn("Hub.findReceiver")(function*(callback: string) {
    const known = Option.getOrUndefined(yield* refuseStoreErrors(store.byCallback(callback)))
    if (known?.secret === undefined || !acceptsPush(known)) return undefined
    const { hub, partition, resourceId, secret } = known
    return { hub, partition, resourceId, secret } satisfies PushReceiver
  })

  const acceptPush = Effect.fn("Hub.acceptPush")(
    function*({ partition, resourceId }: PushReceiver, document: PushedDocument) {
      if (!(yield* partitions.hubPush(partition, resourceId, document))) return yield* retryLater
    }
  )

  return { confirmIntent, findReceiver, acceptPush } satisfies HubCallbacks
})

const retryLater = Effect.fail(
  refuseUnavailable("The news could not be stored for the moment. Please send them again.", 10)
)
