import type { PgClient } from "@effect/sql-pg"
import { Effect, Fiber, Schedule } from "effect"
import type { Heartbeat } from "./DatabaseLiveness.ts"
import { sqlState } from "./Query.ts"

/** A silent server is asked again 0.5 s after it did not answer. */
const again = Schedule.spaced("500 millis")

/**
 * A server has 5 s for its answer, in ten parts. When this process itself stood still, or was too busy to look, that was one part of them,
 * and the answer that came meanwhile is read before the next.
 */
const patience = Effect.repeat(Effect.sleep("500 millis"), Schedule.recurs(9))

/** The heart of a server that is asked through `client`, which is nobody else's: a question would wait behind others. */
export const make = Effect.fnUntraced(function*(client: PgClient.PgClient) {
  const scope = yield* Effect.scope
  let silent = false
  const untilItAnswers = answered(client).pipe(
    Effect.repeat({ until: (answers) => answers, schedule: again }),
    Effect.andThen(Effect.sync(() => silent = false))
  )
  const fallSilent = Effect.suspend(() => {
    if (silent) return Effect.void
    silent = true
    return Effect.forkIn(untilItAnswers, scope)
  })
  return {
    isSilent: () => silent,
    beats: Effect.tap(answered(client), (answers) => answers ? Effect.void : fallSilent)
  } satisfies Heartbeat
})

/** Whatever the server says is an answer, a refusal too. A question that has none ends by itself: that takes as long again. */
const answered = (client: PgClient.PgClient): Effect.Effect<boolean> =>
  Effect.gen(function*() {
    const asking = yield* Effect.forkDetach(client`select 1`)
    const answer = Effect.match(Fiber.join(asking), {
      onSuccess: () => true,
      onFailure: (error) => sqlState(error) !== undefined
    })
    return yield* Effect.raceFirst(answer, Effect.as(patience, false)).pipe(
      Effect.ensuring(Effect.sync(() => asking.interruptUnsafe()))
    )
  })
