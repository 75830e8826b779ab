import { Clock, Effect, Exit, Layer, Schedule, Scope, Semaphore } from "effect"
import { checkSpacingMs, type ShardLease } from "#actors/runtime/ShardLease.ts"
import type { ComponentConfig } from "./ComponentConfig.ts"
import * as ComponentStream from "./ComponentStream.ts"
import * as LocalConnection from "./LocalConnection.ts"
import { DelegateEntity } from "./XmppEntity.ts"

/** Time after the owner's last look at which a delegate drops the connection, in ms. */
const holdMs = 6_000

/** The runner's last probe of the server, for all its delegates. */
const probeLifetime = "2 seconds"

/** The delegates of this runner. */
export const layer = (config: ComponentConfig) =>
  Layer.unwrap(Effect.gen(function*() {
    const probe = yield* Effect.cachedWithTTL(ComponentStream.probe(config), probeLifetime)
    return DelegateEntity.toLayer(
      Effect.gen(function*() {
        const clock = yield* Clock.Clock
        const entityScope = yield* Effect.scope
        const semaphore = yield* Semaphore.make(1)
        let heldUntil = 0
        let open: { readonly connection: LocalConnection.LocalConnection; readonly scope: Scope.Closeable } | undefined
        const isHeld = () => clock.currentTimeMillisUnsafe() < heldUntil
        const awaitHeld: Effect.Effect<void> = Effect.suspend(() =>
          isHeld() ? Effect.void : Effect.andThen(Effect.sleep(checkSpacingMs), awaitHeld)
        )
        const lease: ShardLease = { isHeld, awaitHeld }
        const hold = Effect.gen(function*() {
          const now = yield* Clock.currentTimeMillis
          heldUntil = now + holdMs
          if (open === undefined) {
            const scope = yield* Scope.fork(entityScope)
            open = { connection: yield* Scope.provide(LocalConnection.makeConnection(config, lease), scope), scope }
          }
          return open.connection.component.cutOffMs(now)
        })
        const closeExpired = Effect.suspend(() => {
          if (open === undefined || isHeld()) return Effect.void
          const { scope } = open
          open = undefined
          return Scope.close(scope, Exit.void)
        })
        yield* semaphore.withPermits(1)(closeExpired).pipe(
          Effect.repeat(Schedule.spaced("1 second")),
          Effect.forkScoped
        )
        return DelegateEntity.of({
          Probe: () => probe,
          Hold: () => semaphore.withPermits(1)(hold),
          Deliver: ({ payload }) =>
            open === undefined
              ? Effect.succeed("unavailable" as const)
              : LocalConnection.deliver(open.connection, lease, payload),
          GetPresences: ({ payload: { jids } }) =>
            open === undefined
              ? Effect.succeed(jids.map(() => "unknown" as const))
              : LocalConnection.getPresences(open.connection, jids)
        })
      }),
      { concurrency: "unbounded", mailboxCapacity: "unbounded" }
    )
  }))
