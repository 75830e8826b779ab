import { countOf } from "#domain/Count.ts"
import { Clock, Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import { type RateLimit, RateLimiter } from "#domain/limits/RateLimiter.ts"
import { type Refusal, refuseThrottled } from "#domain/Refusal.ts"

/** Maximum of accounts that a limiter remembers. */
const maxAccounts = 10_000

/**
 * A rate limit per account. The limiter counts `uses`, at most a burst of them, or refuses the request with the seconds to wait.
 *
 * `what` ends the sentence of the refusal: "recoveries are possible".
 */
export const makeAccountLimit = (what: string, { burst, perMinute }: RateLimit) => {
  const limiter = new RateLimiter({ burst, perMinute }, { maxKeys: maxAccounts, maxDebtMs: 0 })
  return Effect.fnUntraced(function*({ account }: Caller, uses = 1): Effect.fn.Return<void, Refusal> {
    const key = String(account.id)
    const now = yield* Clock.currentTimeMillis
    const waitMs = limiter.waitMs(key, now, uses)
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000)
      return yield* refuseThrottled(
        `For your account, at most ${burst} ${what} at once, and ${perMinute} a minute; try again in ${
          countOf(seconds, "second")
        }.`,
        seconds
      )
    }
    limiter.use(key, now, uses)
  })
}
