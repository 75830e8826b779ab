import type { Element } from "@xmpp/xml"
import type { Presence } from "#actors/operations/Presences.ts"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import * as Jid from "#domain/Jid.ts"
import { copyText } from "./Elements.ts"

/** Maximum of tracked JIDs, and of resources of a JID. Presences beyond the second maximum are ignored. */
const maxJids = 10_000
const maxResources = 16

/** Number of characters that distinguish resources. */
const resourceLength = 64

/**
 * Presences of subscribers.
 *
 * JIDs that subscribe to the component's presence, or direct theirs to the component, are known. With XEP-0356 all JIDs of the server
 * are known. The JID with the oldest presence is forgotten first.
 */
export class PresenceTracker {
  /** Available resources by bare JID. A JID without resources is offline. */
  readonly #resources = new BoundedMap<string, Set<string>>(maxJids)

  /** Records a presence. Returns the bare JID when the JID comes online. */
  record({ attrs: { from = "", type } }: Element): string | undefined {
    const jid = Jid.parse(from)
    if (jid === undefined || (type !== undefined && type !== "unavailable")) return undefined
    const bare = copyText(Jid.bare(jid))
    const resources = this.#resources.get(bare) ?? new Set<string>()
    const cameOnline = type === undefined && resources.size === 0
    const resource = copyText((jid.resource ?? "").slice(0, resourceLength))
    if (type === undefined) {
      if (resources.size < maxResources) resources.add(resource)
    } else if (jid.resource === undefined) resources.clear()
    else resources.delete(resource)
    this.#resources.set(bare, resources)
    return cameOnline ? bare : undefined
  }

  get(bareJid: string): Presence {
    const resources = this.#resources.get(bareJid)
    return resources === undefined ? "unknown" : resources.size > 0 ? "online" : "offline"
  }

  /** Forgets a JID, or all JIDs when the connection ends: the server does not report later changes. */
  forget(bareJid?: string): void {
    if (bareJid === undefined) this.#resources.clear()
    else this.#resources.delete(bareJid)
  }
}
