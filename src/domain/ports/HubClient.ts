import { Context, type Effect, Schema } from "effect"
import type { CallbackCredentials } from "#domain/websub/HubSubscription.ts"

/** A request to a publisher's hub. */
export interface HubRequest {
  readonly hub: string
  readonly mode: "subscribe" | "unsubscribe"
  /** The topic in the spelling of the hub. */
  readonly topic: string
  /** Last segment of the callback's path. */
  readonly callback: string
  readonly secret: string
  /** Seconds. */
  readonly leaseSeconds: number
}

/** The hub refused the request, or was unreachable. `message` is a sentence for the operator. */
export class HubRequestError
  extends Schema.TaggedError<HubRequestError>()("HubRequestError", { message: Schema.String }) {}

/** Sends requests to hubs, to guarded addresses only. */
export class HubClient extends Context.Service<HubClient, {
  /** Succeeds when the hub has accepted the request. The hub sends its decision to the callback. */
  readonly send: (request: HubRequest) => Effect.Effect<void, HubRequestError>
  /** A random callback and secret. */
  readonly makeCredentials: Effect.Effect<CallbackCredentials>
}>()("windhover/domain/ports/HubClient") {}
