/**
 * The status of a watched resource in notifications and answers.
 *
 * Unknown and inaccurate fields are absent. Times are epoch milliseconds; the renderers turn them into the wire's form.
 */
export interface Status {
  /** The topic as this subscriber wrote it. */
  readonly feed: string
  readonly title?: string
  /** Last HTTP status; 0 when no answer came. Absent before the first fetch. */
  readonly code?: number
  /** The last fetch in words, see `describeFetch`. */
  readonly http?: string
  readonly nextFetch?: number
  /** Seconds between polls. */
  readonly period?: number
  readonly lastFetch?: number
  /** An unchanged document is not parsed. */
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

/** The trigger of a fetch: its alarm, a publisher's ping, content pushed by a hub, or an overdue alarm. */
export type PollTrigger = "ring" | "ping" | "push" | "late"

/** The log line of a fetch, in the wire's grammar: `Fetched (ring) 200 900 and parsed 1/30 entries`. */
export const describeFetch = (trigger: PollTrigger, code: number, period: number, outcome?: string): string =>
  `Fetched (${trigger}) ${code} ${period}${outcome === undefined ? "" : ` and ${outcome}`}`

/** The log line of a poll that found the bytes of the last document, whatever status the server sent. */
export const describeUnchanged = (period: number): string => describeFetch("ring", 304, period)

/** Whether a log line gives a reason, as those of unreadable documents do. */
export const hasReason = (http: string | undefined): boolean => /^Fetched \(\w+\) \d+ \d+: /.test(http ?? "")

/** The log line of a resource that is not fetched for now. */
export const describePause = (reason: string): string => `${pauseStart}${reason}`

/** Whether a log line reports a pause. */
export const isPaused = (http: string | undefined): boolean => http?.startsWith(pauseStart) === true

const pauseStart = "Not fetched for now: "

/** Whether a log line reports a failure with this reason. */
export const isSameFailure = (http: string | undefined, reason: string | undefined): boolean => {
  const found = /^Fetched \(\w+\) \d+ \d+(?:: (.*))?$/s.exec(http ?? "")
  return found !== null && found[1] === reason
}
