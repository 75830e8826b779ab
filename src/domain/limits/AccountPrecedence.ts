import { Effect } from "effect"

/** Longest wait of one step of strangers, so that busy accounts slow strangers down and never stop them. */
const maxWait = "1 second"

/**
 * Precedence of accounts at what all work of the process shares: the processor, the event loop, and the session of the embedded database.
 *
 * The work of strangers comes in steps: a document to read, a part of its entries, a statement. A step begins while no account waits for its
 * request or for a large document, or after a second.
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

  /** Runs the work of an account. */
  withPrecedence<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      this.begin()
      return Effect.ensuring(work, Effect.sync(() => this.end()))
    })
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
