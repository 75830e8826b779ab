import { Context, type Effect } from "effect"
import type { IpNetworks } from "#domain/limits/IpNetwork.ts"

/** Tells before a subscription is stored that Windhover never connects to the host of a URL. */
export class AddressCheck extends Context.Service<AddressCheck, {
  /**
   * A sentence about `url`, which names its host and the setting that opens it; undefined when the host may be reachable.
   *
   * A name that cannot be resolved at the moment may be reachable later.
   */
  readonly explain: (url: string) => Effect.Effect<string | undefined>
  /** The networks of the first address of the URL's host; undefined when its name cannot be resolved at the moment. */
  readonly resolveNetworks: (url: string) => Effect.Effect<IpNetworks | undefined>
}>()("windhover/domain/ports/AddressCheck") {}
