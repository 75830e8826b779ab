import { Layer } from "effect"
import * as Asking from "./Asking.ts"
import * as Bouncing from "./Bouncing.ts"
import * as HubLayer from "./HubLayer.ts"
import { HubTrust } from "./HubTrust.ts"
import { Listeners } from "./Listeners.ts"
import * as Maintenance from "./Maintenance.ts"
import * as OpenHub from "./OpenHub.ts"
import * as Partition from "./Partition.ts"
import { Residency } from "./Residency.ts"
import * as Resource from "./Resource.ts"
import * as Runner from "./Runner.ts"
import * as Subscription from "./Subscription.ts"
import * as Upstream from "./Upstream.ts"

const supervisor = Partition.Supervisor.layer.pipe(
  Layer.provide(Layer.mergeAll(Resource.layer, Subscription.layer, Upstream.layer)),
  Layer.provide(Residency.layer)
)

/** The `Hub` with both its faces. */
const hub = HubLayer.layer.pipe(Layer.provide(OpenHub.layer), Layer.provide(Asking.layer))

/**
 * All actors of a runner, and the `Hub` in front of them. From outside: the ports, the `Senders`, and `Sharding`,
 * which says what this runner holds.
 */
export const layer = Layer.mergeAll(
  hub,
  Runner.layerWake,
  Runner.layerSweep,
  Runner.layerTrust,
  Bouncing.layerTrials,
  Maintenance.layer
)
  .pipe(
    Layer.provide(Layer.mergeAll(Runner.Partitions.layer, Runner.Ownership.layer)),
    Layer.provide(Partition.layer.pipe(Layer.provide(supervisor))),
    Layer.provide(Partition.Held.layer),
    Layer.provide(HubTrust.layer),
    Layer.provide(Listeners.layer)
  )
