/** A runner as it describes itself: its share of the service, its load and its version. */
export interface RunnerReport {
  /** `host:port` of a runner in a cluster; the name of the machine of a process alone. */
  readonly name: string
  readonly version: string
  /** Start of the process, epoch ms. */
  readonly startedAt: number
  readonly partitions: number
  /** Watched resources by the result of their last fetch, and those whose poll is more than a minute late. */
  readonly healthy: number
  readonly failing: number
  readonly late: number
  /** Counts of the last whole minute; absent in the first one. */
  readonly traffic?: RunnerTraffic
  /** CPU seconds of all threads per second: 1 is a core. */
  readonly cpu: number
  /** Share of the time in which the event loop of the main thread was busy, 0 to 1. */
  readonly eventLoop: number
  /** Resident memory of the process, in bytes. */
  readonly memory: number
}

/** Counts of a minute. */
export interface RunnerTraffic {
  readonly polls: number
  readonly delivered: number
  readonly failedDeliveries: number
}

/** A report with its time, epoch ms. */
export interface SeenRunner extends RunnerReport {
  readonly seenAt: number
}

/** Interval of the reports of a runner. */
export const reportIntervalMs = 20_000

/** Age of the last report from which a runner counts as silent: three reports are missing. */
export const silentAfterMs = 3 * reportIntervalMs + 5_000

/** Time for which the last report of a silent runner is kept. */
export const maxSilenceMs = 24 * 3_600_000
