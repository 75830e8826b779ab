import { Effect, Layer, Schedule } from "effect"
import type * as RunnerAddress from "effect/cluster/RunnerAddress"
import * as Runners from "effect/cluster/Runners"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import { superviseLoop } from "#actors/runtime/Supervision.ts"

/** Runners that each runner watches: the next ones by address. */
const maxWatched = 3

/** Refused pings in a row after which a runner is dead. */
const maxRefusals = 3

/** Time for a ping. Without an answer the runner is slow or cut off, which is no sign of its death. Opening a connection may take 1 s. */
const pingTimeout = "800 millis"

const spacing = Schedule.spaced("300 millis")

/**
 * Finds killed runners, so that the others take their partitions over after 2 to 4 s.
 *
 * The cluster has one checker only, which may die with its runner; the heartbeats of both then end after 9 s. Here each runner has up to three
 * watchers. A watcher reports a runner whose machine refuses three pings in a row, because a living process refuses none. Slow and vanished
 * runners stay with the checker and the heartbeats.
 */
export const layer = (self: RunnerAddress.RunnerAddress) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const runners = yield* Runners.Runners
    const storage = yield* RunnerStorage.RunnerStorage
    const refusals = new Map<string, number>()

    const isRefused = (address: RunnerAddress.RunnerAddress) =>
      Effect.match(Effect.timeoutOption(runners.ping(address), pingTimeout), {
        onFailure: () => true,
        onSuccess: () => false
      })

    const check = Effect.fnUntraced(function*(address: RunnerAddress.RunnerAddress) {
      const key = keyOf(address)
      if (!(yield* isRefused(address))) return void refusals.delete(key)
      const count = (refusals.get(key) ?? 0) + 1
      refusals.set(key, count)
      // Once: if the checker of the cluster reaches the runner after all, the two would contradict each other for ever.
      if (count !== maxRefusals) return
      yield* storage.setRunnerHealth(address, false)
      yield* Effect.logWarning("A runner has died; the other runners take over its partitions.").pipe(
        Effect.annotateLogs({ runner: key })
      )
    })

    const watch = Effect.gen(function*() {
      const healthy = (yield* storage.getRunners).flatMap(([{ address }, isHealthy]) => isHealthy ? [address] : [])
      const watched = selectWatched(self, healthy)
      const keys = new Set(watched.map(keyOf))
      for (const key of refusals.keys()) if (!keys.has(key)) refusals.delete(key)
      yield* Effect.forEach(watched, check, { concurrency: maxWatched, discard: true })
    })
    // The sharding of the cluster reports a silent database.
    yield* superviseLoop("watching runners", Effect.ignore(watch), spacing)
  }))

const keyOf = ({ host, port }: RunnerAddress.RunnerAddress): string => `${host}:${port}`

/** The runners after `self` in the circle of addresses; none when `self` is not healthy itself. */
export const selectWatched = (
  self: RunnerAddress.RunnerAddress,
  healthy: ReadonlyArray<RunnerAddress.RunnerAddress>
): ReadonlyArray<RunnerAddress.RunnerAddress> => {
  const circle = healthy.toSorted((a, b) => keyOf(a) < keyOf(b) ? -1 : 1)
  const position = circle.findIndex((one) => keyOf(one) === keyOf(self))
  if (position < 0) return []
  return [...circle.slice(position + 1), ...circle.slice(0, position)].slice(0, maxWatched)
}
