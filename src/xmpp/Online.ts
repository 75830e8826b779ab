import type { Element } from "@xmpp/xml"
import type { Presence } from "#actors/operations/Presences.ts"
import * as Jid from "#domain/Jid.ts"
import { kept } from "./Elements.ts"

/** Addresses that are known, and resources of one, at most: of others nothing is known. */
const mostAddresses = 10_000
const mostResources = 16

/** Characters of a resource that tell it apart. */
const resourceLength = 64

/**
 * Who is online, from the presences that reach the component: of those who subscribed to it or sent theirs to it, or, with a server that grants
 * XEP-0356, of everybody on it. Whoever was heard of longest ago is forgotten first.
 */
export class Online {
  /** Bare JIDs with their available resources; none of them is an address that went offline. */
  readonly #resources = new Map<string, Set<string>>()

  /** Takes a presence, and tells whose address has come online with it. */
  hear({ attrs: { from = "", type } }: Element): string | undefined {
    const jid = Jid.parse(from)
    if (jid === undefined || (type !== undefined && type !== "unavailable")) return undefined
    const bare = kept(Jid.bare(jid))
    const resources = this.#resources.get(bare) ?? new Set<string>()
    const cameOnline = type === undefined && resources.size === 0
    const resource = kept((jid.resource ?? "").slice(0, resourceLength))
    if (type === "unavailable") this.#leave(resources, jid.resource, resource)
    else if (resources.size < mostResources) resources.add(resource)
    this.#keep(bare, resources)
    return cameOnline ? bare : undefined
  }

  of(bare: string): Presence {
    const resources = this.#resources.get(bare)
    return resources === undefined ? "unknown" : resources.size > 0 ? "online" : "offline"
  }

  /** Of one address, whose next presence is its first then; or, when the connection is gone, of all: who left meanwhile is not told. */
  forget(bare?: string): void {
    if (bare === undefined) this.#resources.clear()
    else this.#resources.delete(bare)
  }

  /** Of a bare address all of it goes. */
  #leave(resources: Set<string>, given: string | undefined, resource: string): void {
    if (given === undefined) resources.clear()
    else resources.delete(resource)
  }

  #keep(bare: string, resources: Set<string>): void {
    this.#resources.delete(bare)
    this.#resources.set(bare, resources)
    for (const oldest of this.#resources.keys()) {
      if (this.#resources.size <= mostAddresses) break
      this.#resources.delete(oldest)
    }
  }
}
