/**
 * A run of sequences of a subscription, from `start` to the start of the next run.
 *
 * The notifications of a resource are numbered too, and a run has a constant difference between both numbers: `offset` is the sequence of
 * the subscription less the number of the resource. A new run begins when the subscription misses notifications, or gets another one.
 * Without an offset, the sequences belong to no numbered notification: to replays, and to parts of a split notification.
 */
export interface SequenceRun {
  readonly start: number
  readonly offset: number | undefined
}

/** Maximum of remembered runs of a subscription. Notifications of older runs cannot be read by sequence. */
export const maxSequenceRuns = 33

/** Numbers of a resource that belong to consecutive sequences of a subscription. Both ends are inclusive. */
export interface NumberRange {
  readonly from: number
  readonly to: number
  /** Difference to the sequence. */
  readonly offset: number
}

/** The numbers behind the sequences from `from` to `to`, inclusive. Sequences without a number, or before the first run, have no range. */
export const rangesOf = (
  runs: ReadonlyArray<SequenceRun>,
  from: number,
  to: number
): ReadonlyArray<NumberRange> =>
  runs.flatMap(({ offset, start }, i) => {
    const end = (runs[i + 1]?.start ?? Infinity) - 1
    const [first, last] = [Math.max(start, from), Math.min(end, to)]
    return offset === undefined || first > last ? [] : [{ from: first - offset, to: last - offset, offset }]
  })

/** The sequence of a numbered notification; undefined when the subscription did not get the notification. */
export const sequenceOf = (
  runs: ReadonlyArray<SequenceRun>,
  number: number,
  nextSequence: number
): number | undefined => {
  const range = rangesOf(runs, 1, nextSequence - 1).find(({ from, to }) => from <= number && number <= to)
  return range === undefined ? undefined : number + range.offset
}

/** The runs after `sequence` was split in two: later sequences have moved up by one. */
export const splitRun = (runs: ReadonlyArray<SequenceRun>, sequence: number): ReadonlyArray<SequenceRun> =>
  runs.flatMap((run, i) => {
    const end = (runs[i + 1]?.start ?? Infinity) - 1
    if (end < sequence) return [run]
    const moved = run.offset === undefined ? undefined : run.offset + 1
    if (run.start > sequence) return [{ start: run.start + 1, offset: moved }]
    if (run.offset === undefined) return [run]
    return [
      ...(run.start < sequence ? [run] : []),
      { start: sequence, offset: undefined },
      ...(end > sequence ? [{ start: sequence + 2, offset: moved }] : [])
    ]
  }).slice(-maxSequenceRuns)
