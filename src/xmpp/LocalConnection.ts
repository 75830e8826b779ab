import type { Element } from "@xmpp/xml"
import { Effect, FiberSet } from "effect"
import type { ShardLease } from "#actors/runtime/ShardLease.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import * as Jid from "#domain/Jid.ts"
import * as Bounces from "./Bounces.ts"
import * as ChatHandler from "./ChatHandler.ts"
import * as Component from "./Component.ts"
import type { ComponentConfig } from "./ComponentConfig.ts"
import { getChildElements } from "./Elements.ts"
import { ns } from "./Namespaces.ts"
import * as PresenceHandler from "./PresenceHandler.ts"
import type { PresenceTracker } from "./PresenceTracker.ts"
import * as RequestHandler from "./RequestHandler.ts"

/** The connection on this runner. */
export interface LocalConnection {
  readonly component: Component.Component
  readonly tracker: PresenceTracker
}

/** Connects the component, and passes each stanza to the handler of its kind. Connects only while the lease is held. */
export const makeConnection = Effect.fnUntraced(function*(config: ComponentConfig, lease: ShardLease) {
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

/** Sends while the lease is held. A caller on another runner retries a delivery that the lease has stopped. */
export const deliver = (
  { component }: LocalConnection,
  lease: ShardLease,
  { id, messages }: { readonly id: string; readonly messages: ReadonlyArray<string> }
) =>
  Effect.map(
    component.deliver(id, messages, lease.isHeld),
    (result) => result === "lease-lost" ? "unavailable" : result
  )

export const getPresences = ({ tracker }: LocalConnection, jids: ReadonlyArray<string>) =>
  Effect.sync(() => jids.map((jid) => tracker.get(jid)))
