import { Effect } from "effect"
import { type HubLinks, hubLinksOf } from "#domain/poll/HubLinks.ts"
import { type Fingerprint, ofString } from "#domain/Fingerprint.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { isOwn } from "#domain/OwnAddress.ts"
import type { HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { HubReliability } from "./HubReliability.ts"
import type { Message } from "./HubSubscriptionMessage.ts"

interface KnownHub {
  readonly hub: string
  /** Of what is advertised. */
  readonly fingerprint: Fingerprint
  readonly reliable: boolean
}

/**
 * What the resources of a partition know of their hubs: in memory, so that a poll reads nothing for it, and one of a resource without
 * a hub does nothing.
 */
export class HubDirectory {
  readonly #known = new Map<number, KnownHub>()
  readonly #trust: HubReliability["Service"]
  readonly #baseUrl: string
  readonly #tell: (id: number, message: Message) => Effect.Effect<void>

  constructor(
    trust: HubReliability["Service"],
    baseUrl: string,
    tell: (id: number, message: Message) => Effect.Effect<void>
  ) {
    this.#trust = trust
    this.#baseUrl = baseUrl
    this.#tell = tell
  }

  set({ hub, hubs, resourceId, topic, reliable }: HubSubscription): void {
    this.#known.set(resourceId, { hub, fingerprint: fingerprintOf({ hubs, topic }), reliable: reliable })
  }

  delete(id: number): void {
    this.#known.delete(id)
  }

  /** The resources that rely on one of these hubs. */
  resourcesRelyingOn(hubs: ReadonlySet<string>): ReadonlyArray<number> {
    return [...this.#known].filter(([, { hub, reliable }]) => reliable && hubs.has(hub)).map(([id]) => id)
  }

  /** Polls of this resource only make sure that its hub pushes. */
  isPushedByHub(id: number): boolean {
    const known = this.#known.size === 0 ? undefined : this.#known.get(id)
    return known !== undefined && known.reliable && !this.#trust.isUnreliable(known.hub)
  }

  /** A resource as it is known now, by a fetch or from its row. */
  observe(resource: ResourceState): Effect.Effect<void> {
    const known = this.#known.get(resource.id)
    const found = this.#trust.enabled ? this.#advertised(resource) : undefined
    if (found === undefined) {
      return known === undefined
        ? Effect.void
        : this.#tell(resource.id, { _tag: "Found", resource, found: noHubLinks(resource) })
    }
    if (known === undefined ? !isWatched(resource) : known.fingerprint === fingerprintOf(found)) return Effect.void
    return this.#tell(resource.id, { _tag: "Found", resource, found })
  }

  /** Its subscriptions have changed. */
  reload(resource: ResourceState): Effect.Effect<void> {
    return this.#known.has(resource.id) ? this.#tell(resource.id, { _tag: "Reload" }) : this.observe(resource)
  }

  /** A fetch has found so many entries (or a document) that the hub has not pushed yet. */
  reportPolledEntries(id: number, count: number): Effect.Effect<void> {
    return this.#known.has(id) ? this.#tell(id, { _tag: "News", count }) : Effect.void
  }

  /** The hub has pushed. */
  reportPush(id: number): Effect.Effect<void> {
    const known = this.#known.get(id)
    if (known === undefined) return Effect.void
    this.#trust.addCounts({ hub: known.hub, pushed: 1, missed: 0, consecutiveMisses: 0 })
    return this.#tell(id, { _tag: "Pushed" })
  }

  /** This service is no hub of its own. */
  #advertised(resource: ResourceState): HubLinks | undefined {
    const found = hubLinksOf(resource)
    const hubs = found?.hubs.filter((hub) => !isOwn(hub, this.#baseUrl)) ?? []
    return found === undefined || hubs.length === 0 ? undefined : { ...found, hubs }
  }
}

const isWatched = ({ hasHubSubscribers, subscribers }: ResourceState): boolean =>
  subscribers > 0 || hasHubSubscribers === true

const noHubLinks = ({ url }: ResourceState): HubLinks => ({ hubs: [], topic: url })

const fingerprintOf = ({ hubs, topic }: HubLinks): Fingerprint => ofString(JSON.stringify([hubs, topic]))
