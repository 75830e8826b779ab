import type { PgClient } from "@effect/sql-pg"
import { Effect, Fiber, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import type { Heartbeat } from "./DatabaseLiveness.ts"
import { sqlState } from "./Query.ts"

/** A silent server is checked again 0.5 s after an unanswered check. */
const recheck = Schedule.spaced("500 millis")

/**
 * A check fails after 5 s without an answer, in steps of 0.5 s. The check of a stop fails after 2 s.
 * A pause of this process takes one step, and an answer that arrived meanwhile is read before the next step.
 */
const step = Effect.sleep("500 millis")
const answerTimeout = Effect.repeat(step, Schedule.recurs(9))
const stopTimeout = Effect.repeat(step, Schedule.recurs(3))

/** The heartbeat of a server. `client` serves no other purpose, because a check must not wait behind other statements. */
export const make = Effect.fnUntraced(function*(client: PgClient.PgClient) {
  const scope = yield* Effect.scope
  let silent = false
  const query = queryServer(client, answerTimeout)
  const recheckUntilAnswer = query.pipe(
    Effect.repeat({ until: (sign) => sign === "answer", schedule: recheck }),
    Effect.andThen(Effect.sync(() => silent = false))
  )
  const becomeSilent = Effect.suspend(() => {
    if (silent) return Effect.void
    silent = true
    return Effect.forkIn(recheckUntilAnswer, scope)
  })
  return {
    isSilent: () => silent,
    check: Effect.flatMap(query, (sign) => sign === "answer" ? Effect.succeed(true) : Effect.as(becomeSilent, false)),
    isUnresponsive: Effect.map(queryServer(client, stopTimeout), (sign) => sign === "none")
  } satisfies Heartbeat
})

/** `refusal`: a connection that fails before its timeout. */
type Sign = "answer" | "refusal" | "none"

/** An error of the server is an answer too. An unanswered query is interrupted in the background, which takes as long again. */
const queryServer = (client: PgClient.PgClient, timeout: Effect.Effect<unknown>): Effect.Effect<Sign> =>
  Effect.gen(function*() {
    const query = yield* Effect.forkDetach(client`select 1`)
    const answer = Effect.match(Fiber.join(query), {
      onSuccess: (): Sign => "answer",
      onFailure: (error): Sign => sqlState(error) !== undefined ? "answer" : isRefusal(error) ? "refusal" : "none"
    })
    return yield* Effect.raceFirst(answer, Effect.as(timeout, "none" as const)).pipe(
      Effect.ensuring(Effect.sync(() => query.interruptUnsafe()))
    )
  })

/** The system's errors have a code (ECONNREFUSED). The timeout of the client has none. */
const isRefusal = ({ reason: { cause } }: SqlError.SqlError): boolean => cause instanceof Error && "code" in cause
