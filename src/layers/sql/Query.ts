import { Context, Effect, Exit, Fiber, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import { StoreError, WriteFailure, type WriteFailureReason } from "#domain/ports/StoreError.ts"
import * as TimerWheel from "#layers/outbound/TimerWheel.ts"
import { DatabaseLiveness } from "./DatabaseLiveness.ts"

/**
 * Runs what a store asks of the database, to an answer or a `StoreError`.
 *
 * A server ends a statement after 30 s; when nothing comes for longer, the statement is given up and its connection with it. The kernel would wait
 * for a quarter of an hour. It is given up earlier when the server has no answer to a simple question either: then it stands still, or
 * has vanished behind its network.
 */
export const run = <A, R>(
  work: Effect.Effect<A, SqlError.SqlError, R>,
  milliseconds = 40_000
): Effect.Effect<A, StoreError, R> =>
  inTime(work.pipe(Effect.tapError(suspect), Effect.mapError(storeError)), milliseconds)

/** The server is asked whether it is there when a statement has waited for so many ms, and again after as many. */
const suspicious = 2_000

/**
 * One timer for all statements.
 *
 * With `Effect.timeout` each had a timer of its own, a fiber that slept and a race of both, and what had died of these in the old generation
 * held the requests of many others until the whole heap was marked.
 */
const deadlines = TimerWheel.make()

const inTime = <A, R>(work: Effect.Effect<A, StoreError, R>, milliseconds: number): Effect.Effect<A, StoreError, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const { beats, isSilent } = Context.get(context, DatabaseLiveness)
    if (isSilent()) return Effect.fail(silent)
    return Effect.callback<A, StoreError>((resume) => {
      const fiber = Effect.runForkWith(context)(work)
      const giveUp = () => {
        resume(Effect.fail(silent))
        fiber.interruptUnsafe()
      }
      const due = performance.now() + milliseconds
      const lookLater = (): TimerWheel.WheelTimer => {
        const left = due - performance.now()
        return left <= suspicious ? deadlines.add(left, giveUp) : deadlines.add(suspicious, look)
      }
      const look = () =>
        void Effect.runForkWith(context)(beats).addObserver((exit) => {
          if (fiber.pollUnsafe() !== undefined) return
          if (Exit.isSuccess(exit) && !exit.value) giveUp()
          else deadline = lookLater()
        })
      let deadline = lookLater()
      fiber.addObserver((exit) => {
        deadlines.cancel(deadline)
        resume(exit)
      })
      return Fiber.interrupt(fiber)
    })
  })

const suspect = Effect.fnUntraced(function*(error: SqlError.SqlError) {
  const why = unwritten.get(sqlState(error) ?? "")
  if (why !== undefined) (yield* WriteFailure).reason = why
})

/** A full disk, or no room for what a question needs; a standby, or a server that was made read-only because its disk is nearly full. */
const unwritten: ReadonlyMap<string, WriteFailureReason> = new Map([["53100", "full"], ["25006", "read-only"]])

/** Tries again what met another transaction: a deadlock or a failed serialization rolled it back whole. */
export const retryConflicts = <A, R>(
  work: Effect.Effect<A, SqlError.SqlError, R>
): Effect.Effect<A, SqlError.SqlError, R> =>
  Effect.retry(work, { while: metAnother, times: 5, schedule: Schedule.jittered(Schedule.exponential("10 millis")) })

const metAnother = ({ reason }: SqlError.SqlError) =>
  reason._tag === "DeadlockError" || reason._tag === "SerializationError"

const silent = new StoreError({ reason: { _tag: "Unavailable", message: "The database server does not answer." } })

/** What a store answers when a statement failed. */
export const storeError = (error: SqlError.SqlError): StoreError =>
  new StoreError({ reason: { _tag: isPassing(error) ? "Unavailable" : "Defect", message: describe(error) } })

/** The five characters by which the server names an error; undefined when it said nothing. */
export const sqlState = (error: SqlError.SqlError): string | undefined => {
  const cause = error.reason.cause
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** The same statement may succeed later: the server is away, starting, overloaded, full or about to change its role. */
export const isPassing = (error: SqlError.SqlError): boolean =>
  error.reason.isRetryable || error.reason._tag === "AuthenticationError" || passing.test(sqlState(error) ?? "")

/**
 * Connection (08), resources (53), operator intervention (57), the server's disk (58); a missing database (3D000),
 * a standby that is not promoted yet (25006), and a session that the server ended as idle (25P03).
 */
const passing = /^(08|53|57|58|3D000|25006|25P03)/

/** What happened, in the server's words where it said some. */
export const describe = (error: SqlError.SqlError): string => {
  const cause = error.reason.cause
  const words = cause instanceof AggregateError
    ? cause.errors.map(String).join("; ")
    : cause instanceof Error
    ? cause.message
    : ""
  const state = sqlState(error)
  return `${words === "" ? error.message : words}${state === undefined ? "" : ` (SQLSTATE ${state})`}`
}
