import { Context, type Effect, Layer } from "effect"
import type { SendResult } from "./OutgoingQueue.ts"

/** One notification for the component to send. */
export interface MessageBatch {
  /** Stable over tries. */
  readonly id: string
  readonly messages: ReadonlyArray<string>
}

/**
 * The component, when it is this runner that has the connection: then nothing goes through the cluster's calls, which would cost more than all
 * the rest of a notification.
 */
export class LocalComponent extends Context.Service<LocalComponent, {
  component: { readonly deliver: (consignment: MessageBatch) => Effect.Effect<SendResult> } | undefined
}>()("windhover/xmpp/LocalComponent") {}

/** One for the entity and for whoever sends: layers that are built together share it. */
export const layer = Layer.sync(LocalComponent, () => ({ component: undefined }))
