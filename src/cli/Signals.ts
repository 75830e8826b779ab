import { Effect, Queue, Schedule } from "effect"

/** Signal that stops a service. */
export type StopSignal = "SIGTERM" | "SIGINT" | "SIGHUP"

/** The process that gets the signals. */
export interface Host {
  readonly on: (signal: StopSignal, listener: () => void) => unknown
  readonly off: (signal: StopSignal, listener: () => void) => unknown
  /** Starts an ordinary stop, as SIGTERM does. */
  readonly terminate: () => void
  /** Ends the process at once. */
  readonly exit: (code: number) => void
  /** True after a start with `nohup`: SIGHUP then has no effect. */
  readonly ignoresHangup: boolean
}

/** Time in which a second signal is an echo of the first one. Terminals and systemd signal the whole process group, and npm forwards its signals. */
const echoTime = "2 seconds"

/** Interval between two checks of the database during a stop. */
const checkInterval = "1 second"

/** Maximum duration of a stop. Each step has a limit of its own. */
export const maxStopTime = "60 seconds"

const signalNumbers: { readonly [signal in StopSignal]: number } = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }

const recovery = "The next start repeats unrecorded work; acknowledged notifications are not lost."

/** The database of the service. */
export interface Database {
  /** True when a check had no answer in time. */
  readonly isSilent: Effect.Effect<boolean>
  /** Ends all waiting for answers of the database. */
  readonly abandon: () => void
}

const answeringDatabase: Database = { isSilent: Effect.succeed(false), abandon: () => {} }

/**
 * Supervises the stop of a service until the scope closes.
 *
 * `NodeRuntime.runMain` starts the stop at SIGTERM and SIGINT; this effect starts the stop at SIGHUP. A second signal ends the process at
 * once, unless the signal is an echo of the first one. After 60 s the process ends, too. A stop abandons a silent database, because it could
 * write nothing.
 */
export const watch = Effect.fnUntraced(function*(host: Host, database: Database = answeringDatabase) {
  const signals = yield* Queue.unbounded<StopSignal>()
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    const listener = () => {
      if (signal !== "SIGHUP" || !host.ignoresHangup) Queue.offerUnsafe(signals, signal)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => host.on(signal, listener)),
      () => Effect.sync(() => host.off(signal, listener))
    )
  }
  const exitOnSecond = Effect.gen(function*() {
    yield* Effect.sleep(echoTime)
    yield* Queue.clear(signals)
    const signal = yield* Queue.take(signals)
    yield* Effect.logWarning("A second signal: exiting at once. " + recovery).pipe(Effect.annotateLogs({ signal }))
    host.exit(128 + signalNumbers[signal])
  })
  const exitWhenLate = Effect.gen(function*() {
    yield* Effect.sleep(maxStopTime)
    yield* Effect.logError("The service has not stopped within a minute: exiting. " + recovery)
    host.exit(1)
  })
  const abandonWhenSilent = Effect.gen(function*() {
    yield* Effect.repeat(database.isSilent, { until: (silent) => silent, schedule: Schedule.spaced(checkInterval) })
    yield* Effect.logWarning("The database does not answer: stopping without it. " + recovery)
    database.abandon()
    return yield* Effect.never
  })
  yield* Effect.gen(function*() {
    const signal = yield* Queue.take(signals)
    yield* Effect.logInfo("A signal stops the service.").pipe(Effect.annotateLogs({ signal }))
    if (signal === "SIGHUP") host.terminate()
    yield* Effect.raceAllFirst([exitOnSecond, exitWhenLate, abandonWhenSilent])
  }).pipe(Effect.forkScoped)
})

/** This process, started by `bin/windhover`. */
export const thisProcess: Host = {
  on: (signal, listener) => process.on(signal, listener),
  off: (signal, listener) => process.off(signal, listener),
  terminate: () => void process.kill(process.pid, "SIGTERM"),
  exit: (code) => process.exit(code),
  // Node resets inherited signal dispositions at its start, so the shell script checks SIGHUP before
  ignoresHangup: process.env["WINDHOVER_HANGUP"] === "ignored"
}
