import { Clock, Effect, Layer, Schedule } from "effect"
import { superviseLoop } from "#actors/runtime/Supervision.ts"
import { TrafficHistory } from "#actors/runtime/TrafficHistory.ts"
import { type LoadTotals, ProcessLoad } from "#domain/ports/ProcessLoad.ts"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { RunnerBoard } from "#domain/ports/RunnerBoard.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { reportIntervalMs, type RunnerReport, type SeenRunner, silentAfterMs } from "#domain/RunnerReport.ts"
import { RunnerResources } from "./Runner.ts"
import { type ListedRunner, Runners } from "./Runners.ts"

/** Maximum of listed runners. */
const maxListed = 200

/** Time for the removal of the report at a stop. Without an answer, the report shows a silent runner for a day. */
const removalTime = "1 second"

/**
 * Describes this runner, and reports it every 20 s in a cluster.
 *
 * A process alone writes nothing: its own page shows all there is.
 */
export const layer = Layer.effect(
  Runners,
  Effect.gen(function*() {
    const board = yield* RunnerBoard
    const { runnerAddress } = yield* Settings
    const { mark, read } = yield* makeRead
    // other loops report a silent database
    const report = runnerAddress === undefined ? Effect.void : Effect.ignore(Effect.flatMap(read, board.report))
    yield* superviseLoop("reports of this runner", Effect.andThen(report, mark), Schedule.spaced(reportIntervalMs))
    if (runnerAddress === undefined) {
      return Runners.of({ list: Effect.map(read, (own) => [listed(own, own)]) })
    }
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(read, ({ name }) => board.remove(name)).pipe(Effect.timeout(removalTime), Effect.ignore)
    )
    return Runners.of({
      list: Effect.gen(function*() {
        const own = yield* read
        const others = (yield* board.list(maxListed)).filter(({ name }) => name !== own.name)
        return [...others, own].toSorted((a, b) => a.name < b.name ? -1 : 1).map((runner) => listed(runner, own))
      })
    })
  })
)

const listed = (runner: SeenRunner, own: SeenRunner): ListedRunner => ({
  ...runner,
  isThis: runner.name === own.name,
  isSilent: own.seenAt - runner.seenAt > silentAfterMs
})

/** Reads the present state of this runner. The load is that since the mark before the last one, so that no short span decides. */
const makeRead = Effect.gen(function*() {
  const process = yield* ProcessLoad
  const resources = yield* RunnerResources
  const traffic = yield* TrafficHistory
  const version = yield* ProductVersion
  const { runnerAddress } = yield* Settings
  const name = runnerAddress === undefined ? process.machine : `${runnerAddress.host}:${runnerAddress.port}`
  const sample = Effect.zip(Clock.currentTimeMillis, process.read)
  let before = yield* sample
  let last = before
  const read = Effect.gen(function*() {
    const [now, totals] = yield* sample
    const minute = (yield* traffic.minutes).at(-1)
    return {
      name,
      version,
      startedAt: process.startedAt,
      seenAt: now,
      ...(yield* resources.count),
      ...(minute !== undefined && {
        traffic: { polls: minute.polls, delivered: minute.delivered, failedDeliveries: minute.failedDeliveries }
      }),
      ...loadBetween(before, [now, totals]),
      memory: totals.memory
    } satisfies RunnerReport & SeenRunner
  })
  const mark = Effect.map(sample, (next) => {
    before = last
    last = next
  })
  return { read, mark }
})

type Sample = readonly [at: number, totals: LoadTotals]

/** The mean load between two samples. */
const loadBetween = ([from, before]: Sample, [to, after]: Sample): Pick<RunnerReport, "cpu" | "eventLoop"> => {
  const share = (part: number, whole: number) => whole > 0 ? part / whole : 0
  const active = after.activeMs - before.activeMs
  return {
    cpu: share(after.cpuMs - before.cpuMs, to - from),
    eventLoop: share(active, active + after.idleMs - before.idleMs)
  }
}
