import { Effect, Layer } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** A full garbage collection of the calling thread, which returns the memory of the last documents to the system. */
export const collectGarbage = (): void => {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc")
    collect = runInNewContext("gc")
  }
  collect?.()
}

let collect: (() => void) | undefined

/** Above this heap, in bytes, a collection would stop the event loop for longer than a notification may wait. */
const maxHeap = 128 * 1024 * 1024

/**
 * Collects the garbage of the start once, 15 s after it.
 *
 * An idle process allocates so little that V8 would keep this garbage for hours. Node then holds 70 MB more than the service needs.
 */
export const collectAfterStart: Layer.Layer<never> = Effect.sync(() => {
  if (process.memoryUsage().heapUsed < maxHeap) collectGarbage()
}).pipe(Effect.delay("15 seconds"), Effect.forkScoped, Layer.effectDiscard)
