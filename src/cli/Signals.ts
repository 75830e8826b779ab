import { Effect, Queue } from "effect"

/** What stops a service. */
export type Stop = "SIGTERM" | "SIGINT" | "SIGHUP"

/** The process that is told to stop. */
export interface Host {
  readonly on: (signal: Stop, listener: () => void) => unknown
  readonly off: (signal: Stop, listener: () => void) => unknown
  /** Asks for the ordinary end, as SIGTERM does. */
  readonly terminate: () => void
  /** Ends it now, whatever is under way. */
  readonly exit: (code: number) => void
  /** A closed terminal or an ended session is none of its business: it was started with `nohup`. */
  readonly ignoresHangup: boolean
}

/** A terminal and systemd signal the whole group, and npm passes on what it got as well: within this time it is the same signal. */
const echo = "2 seconds"

/** All that is waited for at a stop is bounded, and together by this: a database that has fallen silent is waited for in several places. */
const limit = "60 seconds"

const numbers: { readonly [signal in Stop]: number } = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 }

const after = "What was not written down is done again after the next start; nothing that was acknowledged is lost."

/**
 * Watches over the end of a service, until the scope closes. That SIGTERM and SIGINT begin it is `NodeRuntime.runMain`'s work.
 *
 * SIGHUP begins it as well. A second signal that is no echo of the first one ends the process at once, as does the time limit.
 */
export const watch = Effect.fnUntraced(function*(host: Host) {
  const signals = yield* Queue.unbounded<Stop>()
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    const listener = () => {
      if (signal !== "SIGHUP" || !host.ignoresHangup) Queue.offerUnsafe(signals, signal)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => host.on(signal, listener)),
      () => Effect.sync(() => host.off(signal, listener))
    )
  }
  const second = Effect.gen(function*() {
    yield* Effect.sleep(echo)
    yield* Queue.clear(signals)
    const signal = yield* Queue.take(signals)
    yield* Effect.logWarning(`${signal} a second time: the end of what is under way is not waited for. ${after}`)
    host.exit(128 + numbers[signal])
  })
  const late = Effect.gen(function*() {
    yield* Effect.sleep(limit)
    yield* Effect.logError(`What is under way has not ended within ${limit}, and is left. ${after}`)
    host.exit(1)
  })
  yield* Effect.gen(function*() {
    const signal = yield* Queue.take(signals)
    yield* Effect.logInfo(`${signal}: stopping`)
    if (signal === "SIGHUP") host.terminate()
    yield* Effect.raceFirst(second, late)
  }).pipe(Effect.forkScoped)
})

/** This process, as `bin/windhover` started it. */
export const self: Host = {
  on: (signal, listener) => process.on(signal, listener),
  off: (signal, listener) => process.off(signal, listener),
  terminate: () => void process.kill(process.pid, "SIGTERM"),
  exit: (code) => process.exit(code),
  // Node takes the default for each signal at its start, whatever it inherited: the shell looks before.
  ignoresHangup: process.env["WINDHOVER_HANGUP"] === "ignored"
}
