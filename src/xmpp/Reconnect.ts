import { Effect } from "effect"
import type { ComponentConfig } from "./ComponentConfig.ts"
import type { StreamError } from "./ComponentStream.ts"

/** Consecutive failed connections. */
export interface Outage {
  /** Number of failures of any kind; 0 after a connection that was stable. */
  readonly failures: number
  /** Kind of the last failure, and its number of consecutive failures. */
  readonly tag: StreamError["reason"]["_tag"] | undefined
  readonly sameTag: number
}

export const noOutage: Outage = { failures: -1, tag: undefined, sameTag: 0 }

/** The outage after another failure. */
export const countFailure = ({ failures, sameTag, tag }: Outage, { reason: { _tag } }: StreamError): Outage => ({
  failures: failures + 1,
  tag: _tag,
  sameTag: tag === _tag ? sameTag + 1 : 1
})

/** Maximum wait before the next attempt, in ms. */
const maxWaitMs = 10_000

/** Wait before the next attempt while only an operator can correct the secret, in ms. */
const operatorWaitMs = 60_000

/** Number of attempts with a wrong secret that follow each other within 10 s: the operator may be correcting the secret right now. */
const maxQuickRejections = 10

/**
 * Number of consecutive conflicts without an error in the log.
 *
 * When the component moves to another runner, the server may still hold the connection of the previous runner.
 */
const maxPassingConflicts = 2

/**
 * Wait before the next connection, in ms.
 *
 * The waits are 0.2, 0.4, 0.8 … 10 s. A rejected secret and a conflict start again at 0.4 s, because the outage before was of another
 * kind. From the eleventh rejection on, the wait is 60 s.
 */
export const getReconnectWaitMs = ({ reason: { _tag } }: StreamError, { failures, sameTag }: Outage): number => {
  if (_tag === "Unauthorized" && sameTag > maxQuickRejections) return operatorWaitMs
  const steps = _tag === "Unauthorized" || _tag === "Replaced" ? sameTag : failures
  return Math.min(200 * 2 ** steps, maxWaitMs)
}

/** Number of conflicts from one line in the log to the next: about a minute. */
const conflictsPerLine = 6

/** Logs a failed connection. Repetitions have the level debug, so that an outage does not fill the log. */
export const logFailure = (error: StreamError, { component, host, port }: ComponentConfig, outage: Outage) =>
  Effect.annotateLogs(lineOf(error, outage), { component, host, port, reason: error.message })

const lineOf = ({ reason: { _tag } }: StreamError, { failures, sameTag }: Outage): Effect.Effect<void> => {
  switch (_tag) {
    case "Unauthorized":
      if (sameTag === 1 || sameTag > maxQuickRejections) {
        return Effect.logError(
          "XMPP: the server rejects the component: WINDHOVER_XMPP_SECRET is not the secret that the server has for it."
        )
      }
      break
    case "Replaced":
      if (sameTag > maxPassingConflicts && (sameTag - maxPassingConflicts) % conflictsPerLine === 1) {
        return Effect.logError("XMPP: another component uses the name of this one; is a second Windhover running?")
      }
  }
  return failures > 3 || sameTag > 3
    ? Effect.logDebug("XMPP: no connection.")
    : Effect.logWarning("XMPP: no connection; deliveries wait.")
}
