import type { PgClient } from "@effect/sql-pg"
import { Effect, Fiber, Schedule } from "effect"
import type { Heartbeat } from "./DatabaseLiveness.ts"
import { sqlState } from "./Query.ts"

/** A silent server is checked again 0.5 s after an unanswered check. */
const recheck = Schedule.spaced("500 millis")

/**
 * A check fails after 5 s without an answer, in ten steps of 0.5 s.
 * A pause of this process takes one step, and an answer that arrived meanwhile is read before the next step.
 */
const answerTimeout = Effect.repeat(Effect.sleep("500 millis"), Schedule.recurs(9))

/** The heartbeat of a server. `client` serves no other purpose, because a check must not wait behind other statements. */
export const make = Effect.fnUntraced(function*(client: PgClient.PgClient) {
  const scope = yield* Effect.scope
  let silent = false
  const recheckUntilAnswer = queryServer(client).pipe(
    Effect.repeat({ until: (answers) => answers, schedule: recheck }),
    Effect.andThen(Effect.sync(() => silent = false))
  )
  const becomeSilent = Effect.suspend(() => {
    if (silent) return Effect.void
    silent = true
    return Effect.forkIn(recheckUntilAnswer, scope)
  })
  return {
    isSilent: () => silent,
    check: Effect.tap(queryServer(client), (answers) => answers ? Effect.void : becomeSilent)
  } satisfies Heartbeat
})

/** An error of the server is an answer too. An unanswered query is interrupted in the background, which takes as long again. */
const queryServer = (client: PgClient.PgClient): Effect.Effect<boolean> =>
  Effect.gen(function*() {
    const query = yield* Effect.forkDetach(client`select 1`)
    const answer = Effect.match(Fiber.join(query), {
      onSuccess: () => true,
      onFailure: (error) => sqlState(error) !== undefined
    })
    return yield* Effect.raceFirst(answer, Effect.as(answerTimeout, false)).pipe(
      Effect.ensuring(Effect.sync(() => query.interruptUnsafe()))
    )
  })
