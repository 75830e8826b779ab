import { Context, type Effect, Layer } from "effect"
import type { SendResult } from "./OutgoingQueue.ts"

/** The messages of one delivery. */
export interface MessageBatch {
  /** Stays the same over retries. */
  readonly id: string
  readonly messages: ReadonlyArray<string>
}

/**
 * The component when this runner holds the connection; undefined otherwise.
 *
 * A direct call avoids the cluster's RPC, which would cost more than the rest of a notification.
 */
export class LocalComponent extends Context.Service<LocalComponent, {
  component: { readonly deliver: (batch: MessageBatch) => Effect.Effect<SendResult> } | undefined
}>()("windhover/xmpp/LocalComponent") {}

/** One instance for the entity and the sender: layers of one build share this layer. */
export const layer = Layer.sync(LocalComponent, () => ({ component: undefined }))
