import { Context, Effect, Layer, type Scope } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { anywhere, type Guard, publicOnly } from "./AddressGuard.ts"
import * as GuardedConnector from "./GuardedConnector.ts"
import * as TimerWheel from "./TimerWheel.ts"
import * as ConnectionPools from "./ConnectionPools.ts"
import * as DnsResolver from "./DnsResolver.ts"
import { version } from "./Version.ts"

/** What fetches, deliveries and verifications share: names, TLS sessions, deadlines, the guard. */
export class Network extends Context.Service<Network, {
  readonly userAgent: string
  readonly deadlines: TimerWheel.TimerWheel
  /** Connections that end with the scope. */
  readonly origins: (
    bounds: Omit<ConnectionPools.ConnectionPoolsOptions, "connect">
  ) => Effect.Effect<ConnectionPools.ConnectionPools, never, Scope.Scope>
}>()("windhover/layers/outbound/Network") {}

export interface NetworkOptions
  extends DnsResolver.DnsResolverOptions, Omit<GuardedConnector.ConnectorOptions, "guard" | "resolver" | "deadlines">
{
  readonly allowPrivate: boolean
  readonly baseUrl: string
  /** Instead of what `allowPrivate` says. */
  readonly guard?: Guard
  /** Instead of those that run out by themselves. */
  readonly deadlines?: TimerWheel.TimerWheel
}

const make = Effect.fnUntraced(function*(options: NetworkOptions) {
  const deadlines = options.deadlines ??
    (yield* Effect.acquireRelease(Effect.sync(TimerWheel.make), (it) => Effect.sync(it.close)))
  const resolver = yield* Effect.acquireRelease(
    Effect.sync(() => DnsResolver.make(options)),
    (it) => Effect.sync(it.close)
  )
  const guard = options.guard ?? (options.allowPrivate ? anywhere : publicOnly)
  const connect = GuardedConnector.make({ ...options, guard, resolver, deadlines })
  return Network.of({
    userAgent: `Windhover/${version} (+${options.baseUrl})`,
    deadlines,
    origins: (bounds) =>
      Effect.acquireRelease(
        Effect.sync(() => ConnectionPools.make({ ...bounds, connect })),
        (origins) => Effect.promise(origins.close)
      )
  })
})

export const layer = Layer.effect(Network, Effect.flatMap(Settings, make))

/** For tests and tools: no settings, other limits. */
export const layerWith = (options: NetworkOptions) => Layer.effect(Network, make(options))
