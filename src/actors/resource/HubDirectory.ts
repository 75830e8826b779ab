import { Effect } from "effect"
import { type HubLinks, hubLinksOf } from "#domain/poll/HubLinks.ts"
import { type Fingerprint, hashString } from "#domain/Fingerprint.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { isOwn } from "#domain/OwnAddress.ts"
import type { HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { HubReliability } from "./HubReliability.ts"
import type { Message } from "./HubSubscriptionMessage.ts"

interface KnownHub {
  readonly hub: string
  /** Of the advertised links. */
  readonly fingerprint: Fingerprint
  readonly reliable: boolean
}

/**
 * The hubs of a partition's resources, in memory.
 *
 * So a poll needs no read from the store, and a poll of a resource without a hub costs nothing here.
 */
export class HubDirectory {
  readonly #known = new Map<number, KnownHub>()
  readonly #reliability: HubReliability["Service"]
  readonly #baseUrl: string
  readonly #tell: (id: number, message: Message) => Effect.Effect<void>

  constructor(
    reliability: HubReliability["Service"],
    baseUrl: string,
    tell: (id: number, message: Message) => Effect.Effect<void>
  ) {
    this.#reliability = reliability
    this.#baseUrl = baseUrl
    this.#tell = tell
  }

  set({ hub, hubs, resourceId, topic, reliable }: HubSubscription): void {
    this.#known.set(resourceId, { hub, fingerprint: fingerprintOf({ hubs, topic }), reliable })
  }

  delete(id: number): void {
    this.#known.delete(id)
  }

  /** Ids of the resources that rely on one of these hubs. */
  resourcesRelyingOn(hubs: ReadonlySet<string>): ReadonlyArray<number> {
    return [...this.#known].filter(([, { hub, reliable }]) => reliable && hubs.has(hub)).map(([id]) => id)
  }

  /** Whether the hub of a resource pushes reliably, so that rare polls suffice. */
  isPushedByHub(id: number): boolean {
    const known = this.#known.size === 0 ? undefined : this.#known.get(id)
    return known !== undefined && known.reliable && !this.#reliability.isUnreliable(known.hub)
  }

  /** Compares the links of a fetched or loaded resource with the known ones, and reports a difference. */
  observe(resource: ResourceState): Effect.Effect<void> {
    const known = this.#known.get(resource.id)
    const found = this.#reliability.enabled ? this.#linksOf(resource) : undefined
    if (found === undefined) {
      return known === undefined
        ? Effect.void
        : this.#tell(resource.id, { _tag: "LinksChanged", resource, links: noHubLinks(resource) })
    }
    if (known === undefined ? !isWatched(resource) : known.fingerprint === fingerprintOf(found)) return Effect.void
    return this.#tell(resource.id, { _tag: "LinksChanged", resource, links: found })
  }

  /** The subscriptions of the resource have changed. */
  reload(resource: ResourceState): Effect.Effect<void> {
    return this.#known.has(resource.id) ? this.#tell(resource.id, { _tag: "Reload" }) : this.observe(resource)
  }

  /** Reports the number of polled entries (or a document) that the hub has not pushed yet. */
  reportPolledEntries(id: number, count: number): Effect.Effect<void> {
    return this.#known.has(id) ? this.#tell(id, { _tag: "EntriesPolled", count }) : Effect.void
  }

  /** Reports a push of the hub. */
  reportPush(id: number): Effect.Effect<void> {
    const known = this.#known.get(id)
    if (known === undefined) return Effect.void
    this.#reliability.addCounts({ hub: known.hub, pushed: 1, missed: 0, consecutiveMisses: 0 })
    return this.#tell(id, { _tag: "Pushed" })
  }

  /** The links of a resource, without hubs at this service. */
  #linksOf(resource: ResourceState): HubLinks | undefined {
    const found = hubLinksOf(resource)
    const hubs = found?.hubs.filter((hub) => !isOwn(hub, this.#baseUrl)) ?? []
    return found === undefined || hubs.length === 0 ? undefined : { ...found, hubs }
  }
}

const isWatched = ({ subscribers }: ResourceState): boolean => subscribers > 0

const noHubLinks = ({ url }: ResourceState): HubLinks => ({ hubs: [], topic: url })

const fingerprintOf = ({ hubs, topic }: HubLinks): Fingerprint => hashString(JSON.stringify([hubs, topic]))
