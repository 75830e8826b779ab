import { Context, type Effect } from "effect"
import type { Self } from "#actors/runtime/Actor.ts"
import type { HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { HubDirectory } from "./HubDirectory.ts"
import type { Message } from "./HubSubscriptionMessage.ts"

export interface State {
  subscription: HubSubscription | undefined
  /** Whether the resource has subscribers. */
  watched: boolean
  /** Entries that a poll has found, and the time (epoch ms) until which the hub may push these entries. */
  missing: { readonly count: number; readonly until: number } | undefined
}

/** Services of the partition for its subscriptions at hubs. */
export interface HubSubscriptionContext {
  readonly hubDirectory: HubDirectory
  /** Polls the resource at the usual rate again, because its hub no longer pushes. */
  readonly pollWithinMaxPeriod: (id: number) => Effect.Effect<void>
}

export class HubSubscriptionBehavior extends Context.Service<HubSubscriptionBehavior, {
  /** Sends due requests to the hub. Returns the time of the next step. */
  readonly run: (self: Self<State, Message>, context: HubSubscriptionContext) => Effect.Effect<number | undefined>
}>()("windhover/actors/resource/HubSubscription/HubSubscriptionBehavior") {}
