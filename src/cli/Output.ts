import { Console, Effect } from "effect"
import { toPrintable } from "#domain/ControlCharacters.ts"

/** Prints a text. Control characters are replaced, because titles, URLs and answers come from strangers and a terminal obeys them. */
export const print = (text: string): Effect.Effect<void> => Console.log(toPrintable(text))

/** Prints a text on standard error, as `print` does. */
export const printError = (text: string): Effect.Effect<void> => Console.error(toPrintable(text))

/**
 * Drops output without a reader instead of ending the process with a stack trace.
 *
 * A reader such as `head` may close the pipe early. A service keeps running after the reader of its log has gone.
 */
export const ignoreClosedOutput = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
}

/** Stops a long command when the reader of its output has gone. The command cleans up, and exits with 0. */
export const stopWhenUnread = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => void process.stdout.once("error", stop)),
    () => command,
    () => Effect.sync(() => void process.stdout.off("error", stop))
  )

// an event, not a signal: a signal would kill a command that has just ended
const stop = (): void => void process.emit("SIGTERM", "SIGTERM")
