import { Effect } from "effect"

/**
 * Who reads the output may go before all of it is written, as `head` does. Node ends the process then, with a stack, unless somebody listens.
 *
 * What cannot be written is dropped from here on: a service goes on when the reader of its log has gone.
 */
export const outliveReaders = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
}

/** A long command is told to stop when nobody reads any more what it prints: it lets go of what it holds, and exits with 0. */
export const whileRead = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => void process.stdout.once("error", stop)),
    () => command,
    () => Effect.sync(() => void process.stdout.off("error", stop))
  )

// to this process alone: the signal itself would kill it when the command has just ended
const stop = (): void => void process.emit("SIGTERM", "SIGTERM")
