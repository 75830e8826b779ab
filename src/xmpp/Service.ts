import { Effect, Layer, Schedule } from "effect"
import * as Entity from "effect/cluster/Entity"
import * as EntityId from "effect/cluster/EntityId"
import * as Sharding from "effect/cluster/Sharding"
import { ShardLeases } from "#actors/runtime/ShardLease.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type ComponentConfig, getComponentConfig } from "./ComponentConfig.ts"
import * as ComponentStream from "./ComponentStream.ts"
import * as ConnectionOwner from "./ConnectionOwner.ts"
import * as DelegateLayer from "./DelegateLayer.ts"
import * as LocalConnection from "./LocalConnection.ts"
import { DelegateEntity, entityId, layerLocalComponent, LocalComponent, XmppEntity } from "./XmppEntity.ts"

const layerEntity = (config: ComponentConfig) =>
  XmppEntity.toLayer(
    Effect.gen(function*() {
      const { shardId } = yield* Entity.CurrentAddress
      const lease = (yield* ShardLeases).of(shardId)
      const local = yield* LocalComponent
      const delegate = yield* DelegateEntity.client
      const open = Effect.gen(function*() {
        const connection = yield* LocalConnection.makeConnection(config, lease)
        yield* Effect.acquireRelease(
          Effect.sync(() => void (local.component = connection.component)),
          () => Effect.sync(() => void (local.component = undefined))
        )
        return connection
      })
      const getPlace = yield* ConnectionOwner.make({
        open,
        cutOffMs: ({ component }, now) => component.cutOffMs(now),
        probe: ComponentStream.probe(config),
        delegates: {
          probe: (number) => Effect.orElseSucceed(delegate(String(number)).Probe(), () => false),
          hold: (number) => Effect.option(delegate(String(number)).Hold())
        }
      })
      return XmppEntity.of({
        Wake: () => Effect.void,
        Deliver: ({ payload: { id, messages } }) => {
          const place = getPlace()
          return place._tag === "Local"
            ? LocalConnection.deliver(place.connection, lease, { id, messages })
            : Effect.orElseSucceed(
              delegate(String(place.number)).Deliver({ id, messages }),
              () => "unavailable" as const
            )
        },
        GetPresences: ({ payload: { jids } }) => {
          const place = getPlace()
          return place._tag === "Local"
            ? LocalConnection.getPresences(place.connection, jids)
            : Effect.orElseSucceed(
              delegate(String(place.number)).GetPresences({ jids }),
              () => jids.map(() => "unknown" as const)
            )
        }
      })
    }),
    { maxIdleTime: "Infinity", concurrency: "unbounded", mailboxCapacity: "unbounded" }
  )

/** Wakes the entity on the runner that owns its shard, checked every 0.5 s: the component has to be connected before the first call. */
const layerStartComponent = Layer.effectDiscard(Effect.gen(function*() {
  const sharding = yield* Sharding.Sharding
  const client = yield* XmppEntity.client
  const ownsShard = Effect.sync(() => sharding.hasShardId(sharding.getShardId(EntityId.make(entityId), "default")))
  let isAwake = false
  yield* Effect.gen(function*() {
    const owned = yield* ownsShard
    if (owned && !isAwake) {
      isAwake = yield* Effect.isSuccess(client(entityId).Wake())
    }
    if (!owned) isAwake = false
  }).pipe(
    Effect.catchCause((cause) => Effect.logError("XMPP: the component could not be started; retrying", cause)),
    Effect.repeat(Schedule.spaced("500 millis")),
    Effect.forkScoped
  )
}))

/** The component, or an empty layer when XMPP is off. */
export const layer = Layer.unwrap(
  Settings.useSync((settings) => {
    const config = getComponentConfig(settings)
    return config === undefined ? Layer.empty : layerStartComponent.pipe(
      Layer.provide(Layer.mergeAll(layerEntity(config), DelegateLayer.layer(config)))
    )
  })
).pipe(Layer.provide(layerLocalComponent))
