import { Clock, Effect, Layer, Schedule } from "effect"

/** Two clocks, in milliseconds. */
export interface TimeSources {
  /** The system's time since the epoch. An operator or a time server may set it back. */
  readonly wall: () => number
  /** Time since an arbitrary moment. It never goes back. */
  readonly monotonic: () => number
}

/** Slowdown while the clock is ahead of the system's: it makes up an hour in four days, a second in two minutes. */
const slowdown = 0.01

/** Differences to the system's clock that are logged. */
const minLoggedMs = 5_000

/**
 * Time since the epoch that never goes back.
 *
 * The clock follows a jump forward at once. After the system's clock is set back, alarms would be late by an hour or a year. The clock
 * therefore continues from its own time, slightly slower, until the system's clock has caught up.
 */
export const makeSteadyClock = ({ monotonic, wall }: TimeSources) => {
  // Numbers of an array of floats change in place. A delivery reads the clock ten times, and each variable would become a new object.
  const last = Float64Array.of(wall(), monotonic())
  const now = (): number => {
    const time = last[0] ?? 0
    const monotonicNow = monotonic()
    const elapsed = monotonicNow - (last[1] ?? 0)
    const wallNow = wall()
    last[1] = monotonicNow
    return Math.floor(last[0] = Math.max(wallNow, time + elapsed * (time + elapsed > wallNow ? 1 - slowdown : 1)))
  }
  return { now, ahead: () => now() - wall() }
}

const system: TimeSources = { wall: Date.now, monotonic: () => performance.now() }

/** The service's clock. Logs a warning when it is 5 s or more ahead of the system's clock. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const { ahead, now } = makeSteadyClock(system)
  const clock = Clock.Clock.defaultValue()
  yield* Effect.forkScoped(warnWhenAhead(ahead))
  return Layer.succeed(Clock.Clock, {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: () => BigInt(now()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(now()) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  })
}))

/** Checks every 10 s, and warns once for each time that the system's clock is set back. */
const warnWhenAhead = (ahead: () => number) => {
  let isLogged = false
  return Effect.suspend(() => {
    const aheadMs = ahead()
    if (aheadMs < minLoggedMs) isLogged = false
    if (isLogged || aheadMs < minLoggedMs) return Effect.void
    isLogged = true
    return Effect.logWarning(
      "The system's clock was set back. Windhover keeps its own time and runs 1 % slower until both agree."
    ).pipe(Effect.annotateLogs({ secondsAhead: Math.round(aheadMs / 1000) }))
  }).pipe(Effect.repeat(Schedule.spaced("10 seconds")))
}
