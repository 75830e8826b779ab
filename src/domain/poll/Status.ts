/**
 * What is known about a watched resource, as subscribers see it in notifications and answers.
 *
 * Any field may be absent: not known yet, or not accurate. Times are epoch milliseconds; the renderers turn them into the wire's form.
 */
export interface Status {
  /** The topic as this subscriber wrote it. */
  readonly feed: string
  readonly title?: string
  /** Last HTTP status; 0 when no answer came. Absent before the first fetch. */
  readonly code?: number
  /** What happened at the last fetch, for a person: see `fetched`. */
  readonly http?: string
  readonly nextFetch?: number
  /** Seconds between polls. */
  readonly period?: number
  readonly lastFetch?: number
  /** A fetched document that is unchanged is not parsed. */
  readonly lastParse?: number
  readonly lastMaintenanceAt?: number
  readonly entriesCountSinceLastMaintenance?: number
  /** Entries per maintenance cycle of 24 to 48 hours. */
  readonly velocity?: number
  readonly popularity?: number
  readonly pornRank?: number
  readonly bozoRank?: number
  readonly generatedIds?: boolean
}

/** Why a resource was fetched: by its own alarm, a publisher's ping, content pushed by a hub, or an alarm that was overdue. */
export type PollTrigger = "ring" | "ping" | "push" | "late"

/** The log line of a fetch, in the wire's grammar: `Fetched (ring) 200 900 and parsed 1/30 entries`. */
export const describeFetch = (occasion: PollTrigger, code: number, period: number, outcome?: string): string =>
  `Fetched (${occasion}) ${code} ${period}${outcome === undefined ? "" : ` and ${outcome}`}`

/** Whether a log line tells of a failure with this reason, at whatever fetch. */
export const isSameFailure = (http: string | undefined, reason: string | undefined): boolean => {
  const found = /^Fetched \(\w+\) \d+ \d+(?:: (.*))?$/s.exec(http ?? "")
  return found !== null && found[1] === reason
}
