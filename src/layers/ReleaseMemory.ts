import { flushCompileCache } from "node:module"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** V8's collection, with the options of its extension `gc`. */
interface Collect {
  (options?: { readonly type: "minor" }): void
  (options: { readonly type: "major"; readonly execution: "sync"; readonly flavor: "last-resort" }): void
}

/** V8's collection of the calling thread. */
export const exposeCollection = (): Collect => {
  setFlagsFromString("--expose-gc")
  return runInNewContext("gc")
}

/**
 * Collects all garbage of the calling thread, and returns V8's reserve of empty pages to the system. Also drops Node's copies of the compiled
 * code of all modules, 7 MB, which Node writes to its cache at the end of the process otherwise.
 *
 * After other collections V8 keeps the pages of a young generation that has shrunk: up to 64 MB for the main thread. Without the flag,
 * V8 would also discard the compiled code of the database, and optimize the parser when it compiles this function anew (see `Backend.ts`).
 */
export const releaseMemory = (): void => {
  flushCompileCache()
  setFlagsFromString("--no-flush-liftoff-code")
  exposeCollection()({ type: "major", execution: "sync", flavor: "last-resort" })
}

/** Milliseconds between the start of a thread and the release of the memory that only the start needed. */
export const releaseDelayMs = 15_000
