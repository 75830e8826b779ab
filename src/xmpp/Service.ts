import type { Element } from "@xmpp/xml"
import { Effect, FiberSet, Layer, Schedule } from "effect"
import * as Entity from "effect/cluster/Entity"
import * as EntityId from "effect/cluster/EntityId"
import * as Sharding from "effect/cluster/Sharding"
import { type ShardLease, ShardLeases } from "#actors/runtime/ShardLease.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Settings } from "#domain/ports/Settings.ts"
import * as Jid from "#domain/Jid.ts"
import * as Bounces from "./Bounces.ts"
import * as ChatHandler from "./ChatHandler.ts"
import * as Component from "./Component.ts"
import { type ComponentConfig, getComponentConfig } from "./ComponentConfig.ts"
import { getChildElements } from "./Elements.ts"
import { ns } from "./Namespaces.ts"
import * as PresenceHandler from "./PresenceHandler.ts"
import * as RequestHandler from "./RequestHandler.ts"
import { entityId, layerLocalComponent, LocalComponent, XmppEntity } from "./XmppEntity.ts"

/** Connects the component, and passes each stanza to the handler of its kind. Connects only while the lease is held. */
const makeComponent = Effect.fnUntraced(function*(config: ComponentConfig, lease: ShardLease) {
  const handleRequest = yield* RequestHandler.make
  const handleBounce = yield* Bounces.makeHandler
  const handleChat = yield* ChatHandler.make
  const presences = yield* PresenceHandler.make
  const run = yield* FiberSet.makeRuntime<never>()
  const outbox = yield* Outbox

  /** Ignores answers to requests, and errors without a bounce. Errors get no reply. */
  const dispatch = (stanza: Element): void => {
    const { type } = stanza.attrs
    switch (stanza.getName()) {
      case "iq":
        return type === "result" || type === "error" ? undefined : handleRequest(component, stanza)
      case "message":
        if (type === "error") return handleBounce(stanza)
        if (grantsPresences(stanza, config)) run(Effect.logInfo("XMPP: the server reports who is online"))
        return handleChat(component, stanza)
      case "presence":
        return presences.handle(component, stanza)
    }
  }

  const component: Component.Component = yield* Component.make({
    ...config,
    onStanza: (stanza) => dispatch(stanza),
    onDisconnect: () => presences.tracker.forget(),
    awaitLease: lease.awaitHeld,
    flush: whenAvailable(outbox.flush)
  })
  return { component, tracker: presences.tracker }
})

/** True for the message with which a server grants access to presences (XEP-0356). A server with this option sends one per connection. */
const grantsPresences = (message: Element, { domain }: ComponentConfig): boolean => {
  const granted = message.getChild("privilege", ns.privilege)
  if (granted === undefined || Jid.domainOf(message.attrs["from"] ?? "") !== Jid.domainOf(domain)) return false
  return getChildElements(granted).some(({ attrs }) => attrs["access"] === "presence" && attrs["type"] !== "none")
}

const layerEntity = XmppEntity.toLayer(
  Effect.gen(function*() {
    const config = getComponentConfig(yield* Settings)
    if (config === undefined) return yield* Effect.die(new Error("XMPP is off"))
    const { shardId } = yield* Entity.CurrentAddress
    const lease = (yield* ShardLeases).of(shardId)
    const { component, tracker } = yield* makeComponent(config, lease)
    const local = yield* LocalComponent
    yield* Effect.acquireRelease(
      Effect.sync(() => void (local.component = component)),
      () => Effect.sync(() => void (local.component = undefined))
    )
    return XmppEntity.of({
      Wake: () => Effect.void,
      Deliver: ({ payload: { id, messages } }) =>
        Effect.map(
          component.deliver(id, messages, lease.isHeld),
          (result) => result === "lease-lost" ? "unavailable" : result
        ),
      GetPresences: ({ payload: { jids } }) => Effect.sync(() => jids.map((jid) => tracker.get(jid)))
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
  Settings.useSync((settings) =>
    getComponentConfig(settings) === undefined ? Layer.empty : layerStartComponent.pipe(Layer.provide(layerEntity))
  )
).pipe(Layer.provide(layerLocalComponent))
