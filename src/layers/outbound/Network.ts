import { Context, Effect, Layer, type Scope } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { type AddressGuard, anyAddress, publicAddressesOnly } from "./AddressGuard.ts"
import { ConnectionPools, type ConnectionPoolsOptions } from "./ConnectionPools.ts"
import * as DnsResolver from "./DnsResolver.ts"
import * as GuardedConnector from "./GuardedConnector.ts"
import * as TimerWheel from "#layers/TimerWheel.ts"
import { version } from "./Version.ts"

/** Shared by fetches, deliveries and verifications: name resolution, TLS sessions, timers and the address guard. */
export class Network extends Context.Service<Network, {
  readonly userAgent: string
  readonly timers: TimerWheel.TimerWheel
  readonly guard: AddressGuard
  readonly resolver: DnsResolver.DnsResolver
  /** Opens pools that close with the scope. */
  readonly openPools: (
    options: Omit<ConnectionPoolsOptions, "connect">
  ) => Effect.Effect<ConnectionPools, never, Scope.Scope>
}>()("windhover/layers/outbound/Network") {}

export interface NetworkOptions
  extends DnsResolver.DnsResolverOptions, Omit<GuardedConnector.ConnectorOptions, "guard" | "resolver" | "timers">
{
  readonly allowPrivate: boolean
  readonly baseUrl: string
  /** Replaces the guard that `allowPrivate` selects. */
  readonly guard?: AddressGuard
  /** Replaces the timers of the system's clock. */
  readonly timers?: TimerWheel.TimerWheel
}

const make = Effect.fnUntraced(function*(options: NetworkOptions) {
  const timers = options.timers ??
    (yield* Effect.acquireRelease(Effect.sync(TimerWheel.make), ({ close }) => Effect.sync(close)))
  const resolver = yield* Effect.acquireRelease(
    Effect.sync(() => DnsResolver.make(options)),
    ({ close }) => Effect.sync(close)
  )
  const guard = options.guard ?? (options.allowPrivate ? anyAddress : publicAddressesOnly)
  const connect = GuardedConnector.make({ ...options, guard, resolver, timers })
  return Network.of({
    userAgent: `Windhover/${version} (+${options.baseUrl})`,
    timers,
    guard,
    resolver,
    openPools: (poolOptions) =>
      Effect.acquireRelease(
        Effect.sync(() => new ConnectionPools({ ...poolOptions, connect })),
        (pools) => Effect.promise(() => pools.close())
      )
  })
})

export const layer = Layer.effect(Network, Effect.flatMap(Settings, make))

/** A network without settings and with other limits, for tests and tools. */
export const layerWith = (options: NetworkOptions) => Layer.effect(Network, make(options))
