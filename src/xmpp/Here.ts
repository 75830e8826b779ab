import { Context, type Effect, Layer } from "effect"
import type { Fate } from "./Outgoing.ts"

/** One notification for the component to send. */
export interface Consignment {
  /** Stable over tries. */
  readonly id: string
  readonly messages: ReadonlyArray<string>
}

/**
 * The component, when it is this runner that has the connection: then nothing goes through the cluster's calls, which would cost more than all
 * the rest of a notification.
 */
export class Here extends Context.Service<Here, {
  component: { readonly deliver: (consignment: Consignment) => Effect.Effect<Fate> } | undefined
}>()("windhover/xmpp/Here") {}

/** One for the entity and for whoever sends: layers that are built together share it. */
export const layer = Layer.sync(Here, () => ({ component: undefined }))
