import { Context, Effect, Exit, Fiber, Schedule } from "effect"
import type { SqlError } from "effect/sql"
import { StoreError, WriteFailure, type WriteFailureReason } from "#domain/ports/StoreError.ts"
import * as TimerWheel from "#layers/TimerWheel.ts"
import { DatabaseLiveness } from "./DatabaseLiveness.ts"

/**
 * Runs the statements of a store, and turns their failure into a `StoreError`.
 *
 * The server ends a statement after 30 s. After 40 s without an answer this function abandons the statement and its
 * connection; the kernel would wait for a quarter of an hour. It gives up earlier when the server does not answer
 * `DatabaseLiveness` either: the server is stopped, or unreachable.
 */
export const run = <A, R>(
  work: Effect.Effect<A, SqlError.SqlError | StoreError, R>,
  timeoutMs = 40_000
): Effect.Effect<A, StoreError, R> =>
  withTimeout(work.pipe(Effect.tapError(noteWriteFailure), Effect.mapError(toStoreError)), timeoutMs)

const toStoreError = (error: SqlError.SqlError | StoreError): StoreError =>
  error._tag === "StoreError" ? error : storeError(error)

/** Interval of liveness checks while a statement waits. */
const checkIntervalMs = 2_000

/**
 * One timer for all statements.
 *
 * `Effect.timeout` needs a timer, a sleeping fiber and a race per statement. Their dead remains in the old generation
 * kept the requests of many other statements alive until the next full garbage collection.
 */
const deadlines = TimerWheel.make()

const withTimeout = <A, R>(work: Effect.Effect<A, StoreError, R>, timeoutMs: number): Effect.Effect<A, StoreError, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const { check, isSilent } = Context.get(context, DatabaseLiveness)
    if (isSilent()) return Effect.fail(noAnswer)
    return Effect.callback<A, StoreError>((resume) => {
      const fiber = Effect.runForkWith(context)(work)
      const giveUp = () => {
        resume(Effect.fail(noAnswer))
        fiber.interruptUnsafe()
      }
      const due = performance.now() + timeoutMs
      const checkLater = (): TimerWheel.WheelTimer => {
        const left = due - performance.now()
        return left <= checkIntervalMs ? deadlines.add(left, giveUp) : deadlines.add(checkIntervalMs, checkNow)
      }
      const checkNow = () =>
        void Effect.runForkWith(context)(check).addObserver((exit) => {
          if (fiber.pollUnsafe() !== undefined) return
          if (Exit.isSuccess(exit) && !exit.value) giveUp()
          else deadline = checkLater()
        })
      let deadline = checkLater()
      fiber.addObserver((exit) => {
        deadlines.cancel(deadline)
        resume(exit)
      })
      return Fiber.interrupt(fiber)
    })
  })

const noAnswer = new StoreError({ reason: { _tag: "Unavailable", message: "The database server does not answer." } })

const noteWriteFailure = Effect.fnUntraced(function*(error: SqlError.SqlError | StoreError) {
  if (error._tag === "StoreError") return
  const reason = writeFailures.get(sqlState(error) ?? "")
  if (reason !== undefined) (yield* WriteFailure).reason = reason
})

/**
 * 53100: the disk is full, or has no room for a temporary file.
 * 25006: the server is a standby, or was made read-only because its disk is nearly full.
 */
const writeFailures: ReadonlyMap<string, WriteFailureReason> = new Map([["53100", "full"], ["25006", "read-only"]])

/** Retries a transaction that a deadlock or failed serialization has rolled back: 5 times, after about 10, 20, 40, 80 and 160 ms. */
export const retryConflicts = <A, E extends SqlError.SqlError | StoreError, R>(
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.retry(work, { while: isConflict, times: 5, schedule: Schedule.jittered(Schedule.exponential("10 millis")) })

const isConflict = ({ reason }: SqlError.SqlError | StoreError) =>
  reason._tag === "DeadlockError" || reason._tag === "SerializationError"

export const storeError = (error: SqlError.SqlError): StoreError =>
  new StoreError({ reason: { _tag: isTransient(error) ? "Unavailable" : "Defect", message: describe(error) } })

/** The five characters of the server's error code; undefined for an error of the connection. */
export const sqlState = (error: SqlError.SqlError): string | undefined => {
  const cause = error.reason.cause
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined
}

/** True if the same statement may succeed later: the server is down, starting, overloaded, full or about to change its role. */
export const isTransient = (error: SqlError.SqlError): boolean =>
  error.reason.isRetryable || error.reason._tag === "AuthenticationError" || transientStates.test(sqlState(error) ?? "")

/**
 * Connection (08), resources (53), operator intervention (57), the server's disk (58), a missing database (3D000),
 * a standby before its promotion (25006), and an idle session that the server has ended (25P03).
 */
const transientStates = /^(08|53|57|58|3D000|25006|25P03)/

/** The server's own words, if any, with the error code. */
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
