import { Effect } from "effect"
import type { ComponentConfig } from "./ComponentConfig.ts"
import type { StreamError } from "./ComponentStream.ts"

/** Wait before the next attempt while only an operator can solve the problem, in ms. */
const operatorWaitMs = 60_000

/**
 * Number of consecutive conflicts that Windhover ignores.
 *
 * When the component moves to another runner, a busy server may still hold the connection of the previous runner.
 */
const maxPassingConflicts = 2

const needsOperator = ({ reason }: StreamError, failures: number): boolean =>
  reason._tag === "Unauthorized" || (reason._tag === "Replaced" && failures > maxPassingConflicts)

/**
 * Wait before the next connection after so many failed ones, in ms.
 *
 * The waits are 0.2, 0.4, 0.8 … 10 s, or 60 s while only an operator can solve the problem.
 */
export const getReconnectWaitMs = (error: StreamError, failures: number): number =>
  needsOperator(error, failures) ? operatorWaitMs : Math.min(200 * 2 ** failures, 10_000)

/** Logs a failed connection. After the third failure in a row the level is debug, so that an outage does not fill the log. */
export const logFailure = (error: StreamError, { component, host, port }: ComponentConfig, failures: number) => {
  const address = `${component} at ${host}:${port}`
  if (!needsOperator(error, failures)) {
    return failures > 3
      ? Effect.logDebug(`XMPP: no connection for ${address} (${error.message})`)
      : Effect.logWarning(`XMPP: no connection for ${address} (${error.message}); deliveries wait`)
  }
  return Effect.logError(
    error.reason._tag === "Unauthorized"
      ? `XMPP: the server rejects ${address}: WINDHOVER_XMPP_SECRET is not the secret that the server has for it (${error.message})`
      : `XMPP: another component uses the name of ${address}; is a second Windhover running? (${error.message})`
  )
}
