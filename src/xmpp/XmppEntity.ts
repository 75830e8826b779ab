import { Context, Layer, Schema } from "effect"
import * as Entity from "effect/cluster/Entity"
import * as Rpc from "effect/rpc/Rpc"
import type { Component } from "./Component.ts"

/** Sends the messages of a delivery and returns the result. `id` stays the same over retries. */
const deliver = Rpc.make("Deliver", {
  payload: {
    id: Schema.String,
    messages: Schema.Array(Schema.String)
  },
  success: Schema.Literals(["accepted", "unavailable", "poison"])
})

/** Returns the presences of bare JIDs, in the order of the JIDs. */
const getPresences = Rpc.make("GetPresences", {
  payload: { jids: Schema.Array(Schema.String) },
  success: Schema.Array(Schema.Literals(["online", "offline", "unknown"]))
})

/**
 * The component as a cluster entity.
 *
 * A server accepts one connection per component name. One runner therefore owns the connection, and the other runners send messages through
 * this entity. When that runner dies, the next owner of the shard connects.
 */
export const XmppEntity = Entity.make("Xmpp", [
  /** Starts the entity, and so the connection. */
  Rpc.make("Wake"),
  deliver,
  getPresences
])

/**
 * Delegates of the owner, numbered from 0 and spread over the runners.
 *
 * When only the owner's runner is cut off from the server, a delegate on another runner holds the connection for the owner.
 */
export const DelegateEntity = Entity.make("XmppDelegate", [
  /** Replies true when the delegate's runner reaches the server. */
  Rpc.make("Probe", { success: Schema.Boolean }),
  /** Opens the connection, and keeps it for the next 6 s. Replies with the time without an answer of the server, in ms. */
  Rpc.make("Hold", { success: Schema.Finite }),
  deliver,
  getPresences
])

/** Id of the only entity. */
export const entityId = "component"

/**
 * The component when this runner holds the connection; undefined otherwise.
 *
 * A direct call avoids the cluster's RPC, which would cost more than the rest of a notification.
 */
export class LocalComponent extends Context.Service<LocalComponent, {
  component: Component | undefined
}>()("windhover/xmpp/XmppEntity/LocalComponent") {}

/** One instance for the entity and the sender: layers of one build share this layer. */
export const layerLocalComponent = Layer.sync(LocalComponent, () => ({ component: undefined }))
