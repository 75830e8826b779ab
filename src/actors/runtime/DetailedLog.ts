import { Effect, References } from "effect"

const detailedLevels: ReadonlySet<string> = new Set(["All", "Trace", "Debug"])

/** Whether the log has each poll and each delivery. Read once: a call of a disabled log would cost each of them. */
export const logsDetails = Effect.map(References.MinimumLogLevel, (level) => detailedLevels.has(level))
