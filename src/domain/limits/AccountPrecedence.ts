import { Context, Effect } from "effect"

/** Longest wait of one step of strangers, so that busy accounts slow strangers down and never stop them. */
const maxWait = "1 second"

/**
 * Precedence of accounts at what all work of the process shares: the processor, the event loop, and the session of the embedded database.
 *
 * The work of strangers comes in steps: a document to read, a part of its entries, a statement. A step begins while no account waits for its
 * request or for a document, or after a second. A request that waits for another host does not count.
 */
export class AccountPrecedence {
  #underWay = 0
  readonly #waiting = new Set<() => void>()

  /** Counts the work of an account until the call of `end`. */
  begin(): void {
    this.#underWay++
  }

  end(): void {
    if (--this.#underWay > 0) return
    for (const admit of this.#waiting) admit()
    this.#waiting.clear()
  }

  /** Runs the work of an account. `withoutPrecedence` pauses the precedence meanwhile. */
  withPrecedence<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => new HeldPrecedence(this)),
      (held) => Effect.provideService(work, Held, held),
      (held) => Effect.sync(() => held.end())
    )
  }

  /** Waits for the turn of a step of strangers. */
  readonly strangersTurn: Effect.Effect<void> = Effect.suspend(() =>
    this.#underWay === 0
      ? Effect.void
      : Effect.timeoutOrElse(this.#nextFree, { duration: maxWait, orElse: () => Effect.void })
  )

  readonly #nextFree = Effect.callback<void>((resume) => {
    const admit = () => resume(Effect.void)
    this.#waiting.add(admit)
    return Effect.sync(() => this.#waiting.delete(admit))
  })
}

/** The precedence of one piece of work. A fiber that outlives the work changes nothing any more. */
class HeldPrecedence {
  readonly #precedence: AccountPrecedence
  #pauses = 0
  #hasEnded = false

  constructor(precedence: AccountPrecedence) {
    this.#precedence = precedence
    precedence.begin()
  }

  pause(): void {
    if (this.#pauses++ === 0 && !this.#hasEnded) this.#precedence.end()
  }

  resume(): void {
    if (--this.#pauses === 0 && !this.#hasEnded) this.#precedence.begin()
  }

  end(): void {
    this.#hasEnded = true
    if (this.#pauses === 0) this.#precedence.end()
  }
}

const Held = Context.Reference<HeldPrecedence | undefined>("windhover/domain/limits/AccountPrecedence/Held", {
  defaultValue: () => undefined
})

/**
 * Waits for another host. The request of an account has no precedence meanwhile, because the wait needs nothing of this process.
 *
 * With precedence, one account that waits for slow servers would leave strangers one step a second.
 */
export const withoutPrecedence = <A, E, R>(wait: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Held, (held) => {
    if (held === undefined) return wait
    return Effect.acquireUseRelease(
      Effect.sync(() => held.pause()),
      () => wait,
      () => Effect.sync(() => held.resume())
    )
  })
