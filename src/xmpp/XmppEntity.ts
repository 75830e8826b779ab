import { Context, Layer, Schema } from "effect"
import * as Entity from "effect/cluster/Entity"
import * as Rpc from "effect/rpc/Rpc"
import type { Component } from "./Component.ts"

/**
 * The component as a cluster entity.
 *
 * A server accepts one connection per component name. One runner therefore holds the connection, and the other runners send messages through
 * this entity. When that runner dies, the next owner of the shard connects.
 */
export const XmppEntity = Entity.make("Xmpp", [
  /** Starts the entity, and so the connection. */
  Rpc.make("Wake"),
  /** Sends the messages of a delivery and returns the result. `id` stays the same over retries. */
  Rpc.make("Deliver", {
    payload: {
      id: Schema.String,
      messages: Schema.Array(Schema.String)
    },
    success: Schema.Literals(["accepted", "unavailable", "poison"])
  }),
  /** Returns the presences of bare JIDs, in the order of the JIDs. */
  Rpc.make("GetPresences", {
    payload: { jids: Schema.Array(Schema.String) },
    success: Schema.Array(Schema.Literals(["online", "offline", "unknown"]))
  })
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
