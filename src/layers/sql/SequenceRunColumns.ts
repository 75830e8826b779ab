import { maxSequenceRuns, type SequenceRun } from "#domain/delivery/SequenceRuns.ts"
import { column } from "./Values.ts"

/** Elements of `earlier_runs` behind a new one: two per run, and the last run has columns of its own. */
const keptElements = 2 * (maxSequenceRuns - 2)

/**
 * Assignments of an update of subscriptions `u` that gives out `u.next_sequence`: begins a new run when the offset changes.
 *
 * `offset` is an SQL expression; null for a notification without a number in its resource. Nearly all updates only compare.
 */
export const continueRun = (offset: string): string => {
  const isSame = `u.run_start is not null and u.run_offset is not distinct from ${offset}`
  return `run_start = case when ${isSame} then u.run_start else u.next_sequence end, run_offset = ${offset},
    earlier_runs = case when u.run_start is null or ${isSame} then u.earlier_runs
      else u.earlier_runs[greatest(cardinality(u.earlier_runs) - ${
    keptElements - 1
  }, 1):] || array[u.run_start, u.run_offset] end`
}

/** The runs of a subscription as they are stored. */
export interface SequenceRunRow {
  readonly run_start: number | null
  readonly run_offset: number | null
  /** Start and offset of each earlier run. */
  readonly earlier_runs: ReadonlyArray<number | null> | null
}

/** Columns of a `SequenceRunRow` from subscriptions `u`. */
export const sequenceRunSelect =
  "u.run_start::float8 as run_start, u.run_offset::float8 as run_offset, u.earlier_runs::float8[] as earlier_runs"

export const sequenceRunsOf = (row: SequenceRunRow): ReadonlyArray<SequenceRun> => {
  if (row.run_start === null) return []
  const elements = [...row.earlier_runs ?? [], row.run_start, row.run_offset]
  return Array.from({ length: elements.length / 2 }, (_, i) => ({
    start: elements[2 * i] ?? 0,
    offset: elements[2 * i + 1] ?? undefined
  }))
}

/** The values of `run_start`, `run_offset` and `earlier_runs`; the last one is a `float8[]`. */
export const sequenceRunValues = (runs: ReadonlyArray<SequenceRun>) => {
  const last = runs.at(-1)
  return [
    last === undefined ? null : BigInt(last.start),
    last?.offset === undefined ? null : BigInt(last.offset),
    column.numbers(runs.slice(0, -1).flatMap(({ offset, start }) => [start, offset]))
  ] as const
}
