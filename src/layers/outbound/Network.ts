import { Context, Effect, Layer, type Scope } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { type AddressGuard, anyAddress, makePublicGuard } from "./AddressGuard.ts"
import { ConnectionPools, type ConnectionPoolsOptions } from "./ConnectionPools.ts"
import * as DnsResolver from "./DnsResolver.ts"
import { fetchSpacingMs } from "#domain/limits/HostPoliteness.ts"
import { HostTurns } from "./HostTurns.ts"
import * as GuardedConnector from "./GuardedConnector.ts"
import { makeIsOwnAddress } from "./OwnAddresses.ts"
import { makeRefusalLog } from "./RefusalLog.ts"
import * as TimerWheel from "#layers/TimerWheel.ts"
import { version } from "./Version.ts"

/** Shared by fetches, deliveries and verifications: name resolution, TLS sessions, timers and the address guard. */
export class Network extends Context.Service<Network, {
  readonly userAgent: string
  readonly timers: TimerWheel.TimerWheel
  readonly guard: AddressGuard
  readonly resolver: DnsResolver.DnsResolver
  /** Logs the refused address of a name, for the operator alone. */
  readonly logRefusedName: (name: string, address: string, text: string) => void
  /** Turns of the exchanges that strangers cause, and of redirects. */
  readonly hostTurns: HostTurns
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
  /** Networks that are allowed, whatever else the guard refuses. */
  readonly allowedAddresses?: ReadonlyArray<string>
  /** Replaces the network interfaces of this machine. */
  readonly listAddresses?: () => ReadonlyArray<string>
  /** Replaces the guard that `allowPrivate` selects. */
  readonly guard?: AddressGuard
  /** Shortest period of a feed, which gives the spacing of fetches from one host. */
  readonly minPeriodSeconds?: number
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
  const guard = options.guard ?? (options.allowPrivate ? anyAddress : yield* makeGuard(options, resolver))
  const logRefusedName = makeRefusalLog(Effect.runForkWith(yield* Effect.context<never>()))
  const connect = GuardedConnector.make({ ...options, guard, resolver, timers, onRefusedName: logRefusedName })
  return Network.of({
    userAgent: `Windhover/${version} (+${options.baseUrl})`,
    timers,
    guard,
    resolver,
    logRefusedName,
    hostTurns: new HostTurns({ resolver, timers, spacingMs: fetchSpacingMs(options.minPeriodSeconds ?? 60) }),
    openPools: (poolOptions) =>
      Effect.acquireRelease(
        Effect.sync(() => new ConnectionPools({ ...poolOptions, connect })),
        (pools) => Effect.promise(() => pools.close())
      )
  })
})

const makeGuard = (options: NetworkOptions, resolver: DnsResolver.DnsResolver) =>
  Effect.map(
    makeIsOwnAddress({ ...options, resolver }),
    (isOwnAddress) => makePublicGuard({ isOwnAddress, allowedNetworks: options.allowedAddresses ?? [] })
  )

export const layer = Layer.effect(Network, Effect.flatMap(Settings, make))

/** A network without settings and with other limits, for tests and tools. */
export const layerWith = (options: NetworkOptions) => Layer.effect(Network, make(options))
