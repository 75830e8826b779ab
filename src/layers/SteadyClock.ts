import { Clock, Effect, Layer, Schedule } from "effect"

/** Where time comes from, in milliseconds. */
export interface Sources {
  /** Of the system, since the epoch: somebody may set it. */
  readonly wall: () => number
  /** Since any moment: it only ever goes on. */
  readonly monotonic: () => number
}

/** While it is ahead of the system's time, it goes so much slower: an hour is made good in four days, a second in two minutes. */
const slower = 0.01

/** Milliseconds that are worth a line in the log. */
const remarkable = 5_000

/**
 * Time since the epoch that never goes back.
 *
 * A jump forward is followed at once. When the system's clock is set back, alarms that stand behind it would all be an hour late, or a year:
 * so it goes on from where it is, a little slower, until the other has caught up.
 */
export const steady = ({ monotonic, wall }: Sources) => {
  let time = wall()
  let readAt = monotonic()
  const now = (): number => {
    const at = monotonic()
    const elapsed = at - readAt
    const there = wall()
    readAt = at
    time = Math.max(there, time + elapsed * (time + elapsed > there ? 1 - slower : 1))
    return Math.floor(time)
  }
  return { now, ahead: () => now() - wall() }
}

const system: Sources = { wall: Date.now, monotonic: () => performance.now() }

/** The clock of a service; says so when it is ahead of the system's. */
export const layer = Layer.unwrap(Effect.gen(function*() {
  const { ahead, now } = steady(system)
  const clock = Clock.Clock.defaultValue()
  let told = false
  yield* Effect.suspend(() => {
    const milliseconds = ahead()
    if (milliseconds < remarkable) told = false
    if (told || milliseconds < remarkable) return Effect.void
    told = true
    return Effect.logWarning(
      `The system's clock was set back by ${
        Math.round(milliseconds / 1000)
      } s; Windhover goes on with its own, which comes nearer by a hundredth.`
    )
  }).pipe(Effect.repeat(Schedule.spaced("10 seconds")), Effect.forkScoped)
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
