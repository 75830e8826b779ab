import { Context, Effect, Layer, type Scope } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { anywhere, type Guard, publicOnly } from "./AddressGuard.ts"
import * as Connector from "./Connector.ts"
import * as Deadlines from "./Deadlines.ts"
import * as Origins from "./Origins.ts"
import * as Resolver from "./Resolver.ts"
import { version } from "./Version.ts"

/** What fetches, deliveries and verifications share: names, TLS sessions, deadlines, the guard. */
export class Network extends Context.Service<Network, {
  readonly userAgent: string
  readonly deadlines: Deadlines.Deadlines
  /** Connections that end with the scope. */
  readonly origins: (
    bounds: Omit<Origins.OriginsOptions, "connect">
  ) => Effect.Effect<Origins.Origins, never, Scope.Scope>
}>()("windhover/layers/Network") {}

export interface NetworkOptions
  extends Resolver.ResolverOptions, Omit<Connector.ConnectorOptions, "guard" | "resolver" | "deadlines">
{
  readonly allowPrivate: boolean
  readonly baseUrl: string
  /** Instead of what `allowPrivate` says. */
  readonly guard?: Guard
  /** Instead of those that run out by themselves. */
  readonly deadlines?: Deadlines.Deadlines
}

const make = Effect.fnUntraced(function*(options: NetworkOptions) {
  const deadlines = options.deadlines ??
    (yield* Effect.acquireRelease(Effect.sync(Deadlines.make), (it) => Effect.sync(it.close)))
  const resolver = yield* Effect.acquireRelease(
    Effect.sync(() => Resolver.make(options)),
    (it) => Effect.sync(it.close)
  )
  const guard = options.guard ?? (options.allowPrivate ? anywhere : publicOnly)
  const connect = Connector.make({ ...options, guard, resolver, deadlines })
  return Network.of({
    userAgent: `Windhover/${version} (+${options.baseUrl})`,
    deadlines,
    origins: (bounds) =>
      Effect.acquireRelease(
        Effect.sync(() => Origins.make({ ...bounds, connect })),
        (origins) => Effect.promise(origins.close)
      )
  })
})

export const layer = Layer.effect(Network, Effect.flatMap(Settings, make))

/** For tests and tools: no settings, other limits. */
export const layerWith = (options: NetworkOptions) => Layer.effect(Network, make(options))
