import { Context, type Effect, Schema } from "effect"
import type { CallbackCredentials } from "#domain/websub/HubSubscription.ts"

/** What a publisher's hub is asked for. */
export interface HubRequest {
  readonly hub: string
  readonly mode: "subscribe" | "unsubscribe"
  /** As the hub knows it. */
  readonly topic: string
  /** End of the path of the callback. */
  readonly callback: string
  readonly secret: string
  /** Seconds. */
  readonly leaseSeconds: number
}

/** The hub has refused, or could not be asked; `message` says so in a sentence for the operator. */
export class HubRequestError extends Schema.TaggedError<HubRequestError>()("HubRefused", { message: Schema.String }) {}

/** Asks hubs, guarded like every other way out. */
export class HubClient extends Context.Service<HubClient, {
  /** The hub has taken the question. What it decides is told to the callback. */
  readonly send: (question: HubRequest) => Effect.Effect<void, HubRequestError>
  /** A callback and a secret that nobody can guess. */
  readonly makeCredentials: Effect.Effect<CallbackCredentials>
}>()("windhover/domain/ports/HubClient") {}
