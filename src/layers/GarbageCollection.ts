import { exposeCollection } from "./ReleaseMemory.ts"

/** A full garbage collection of the calling thread, which returns the memory of the last documents to the system. */
export const collectGarbage = (): void => {
  collect ??= exposeCollection()
  collect()
}

/**
 * Returns the memory of large buffers that were in use for a moment, such as the parameters of a statement. Takes a few milliseconds.
 *
 * V8 would keep them until 64 MB more have come together, although the documents they belonged to count in the budget no longer.
 */
export const collectYoungGarbage = (): void => {
  if (isScheduled) return
  isScheduled = true
  // Later, when no function on the stack refers to the buffers.
  setImmediate(() => {
    isScheduled = false
    collect ??= exposeCollection()
    collect({ type: "minor" })
  })
}

let isScheduled = false

let collect: ReturnType<typeof exposeCollection> | undefined
