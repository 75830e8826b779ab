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
  setFlag("--no-flush-liftoff-code")
  exposeCollection()({ type: "major", execution: "sync", flavor: "last-resort" })
}

/**
 * Lets all threads collect garbage in short pauses only, until the process ends.
 *
 * Otherwise V8 starts a collection that returns memory when the last full one is 100 s ago, however busy the process is. It moves all objects,
 * which stopped the service with 80 MB of them for 271 to 344 ms, and leaves a young generation of 1 MB. An ordinary one took 3 to 47 ms.
 */
export const shortenCollections = (): void => setFlag("--no-memory-reducer-favors-memory")

/**
 * Lets V8 collect all garbage of a thread when its heap has grown by half, until the process ends.
 *
 * By itself V8 chooses the growth anew after each collection: more when many objects are promoted, a tenth when few are. At 200 pings a second,
 * it collected every 4 s that way. Each collection marks 80 MB, and drops the optimized code of closures without a living instance.
 */
export const spaceCollections = (): void => setFlagsFromString("--heap-growing-percent=50")

/** V8 of Node 22 has neither of the flags, and would print an error for each. */
const setFlag = (flag: string): void => {
  if (Number.parseInt(process.versions.node, 10) >= 24) setFlagsFromString(flag)
}

/** Milliseconds between the start of a thread and the release of the memory that only the start needed. */
export const releaseDelayMs = 15_000
