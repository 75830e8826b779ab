import { Clock, Context, Effect, Layer } from "effect"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { FairQueue } from "#domain/limits/FairQueue.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { type Refusal, refuseThrottled } from "#domain/Refusal.ts"

/** Requests that wait for their turn: of one client network, and in total. */
const maxWaiting = { maxPerKey: 256, maxTotal: 4_096 }

/**
 * Turns of the requests of strangers at the database, by the time that each client network has used.
 *
 * One request at a time runs its statements, while no account waits. So a flood of requests delays an account by one statement at most, and
 * another client by one request.
 */
export class StrangersTurns extends Context.Service<StrangersTurns, {
  /** Runs `statements` in turn. They wait for no other host. */
  readonly run: <A, E, R>(network: string, statements: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Refusal, R>
}>()("windhover/actors/operations/StrangersTurns") {}

export const layer = Layer.effect(
  StrangersTurns,
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const precedence = yield* Precedence
    const queue = new FairQueue(() => clock.currentTimeMillisUnsafe())
    const waiting = new KeyedCounter(maxWaiting)
    return StrangersTurns.of({
      run: (network, statements) =>
        Effect.acquireUseRelease(
          Effect.suspend(() => waiting.tryAdd(network) ? Effect.void : tooManyWaiting),
          () => queue.run(network, Effect.andThen(precedence.strangersTurn, statements)),
          () => Effect.sync(() => waiting.remove(network))
        )
    })
  })
)

const tooManyWaiting = Effect.fail(
  refuseThrottled("Too many requests of your network wait on this hub. Try again later.", 10)
)
