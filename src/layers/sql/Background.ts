import { Effect, Latch, Schedule, Semaphore } from "effect"
import { type StoreError, warnOfStoreError } from "#domain/ports/StoreError.ts"

/** Repeats a step until the scope closes. A failed step is logged with the text of `warning`, and runs again on schedule. */
export const repeatInBackground = <A>(
  step: Effect.Effect<unknown, StoreError>,
  schedule: Schedule.Schedule<A>,
  warning: string
) =>
  step.pipe(
    Effect.catchTag("StoreError", warnOfStoreError(warning)),
    Effect.repeat(schedule),
    Effect.forkScoped
  )

interface WriteBehindOptions<Item> {
  /** Wait in ms from the first item to the statement. */
  readonly delayMs: number
  /** So many items are written at once. */
  readonly maxItems: number
  /** One statement for all items. */
  readonly write: (items: ReadonlyArray<Item>) => Effect.Effect<unknown, StoreError>
  /** Text of the warning about a failed statement. */
  readonly warning: string
}

/**
 * Keeps items in memory and writes them in bulk, in the background and when the scope closes. Items of a failed statement are kept and
 * written again, after a second; a crash loses them.
 */
export const makeWriteBehind = Effect.fnUntraced(function*<Item>(
  { delayMs, maxItems, warning, write }: WriteBehindOptions<Item>
) {
  const unwritten = new Set<Item>()
  const semaphore = yield* Semaphore.make(1)
  const flush = semaphore.withPermits(1)(Effect.suspend(() => {
    const items = [...unwritten]
    return items.length === 0
      ? Effect.void
      : Effect.map(write(items), () => items.forEach((item) => unwritten.delete(item)))
  }))
  // The fiber sleeps until there is an item: a look every 50 ms costs as much as fifty polls.
  const hasItem = yield* Latch.make(false)
  const flushSoon = Effect.suspend(() => unwritten.size > 0 ? Effect.void : hasItem.await).pipe(
    Effect.andThen(Effect.sleep(delayMs)),
    Effect.andThen(hasItem.close),
    Effect.andThen(flush)
  )
  const pauseAfterFailure = Effect.tapError(flushSoon, () => Effect.sleep("1 second"))
  yield* repeatInBackground(pauseAfterFailure, Schedule.forever, warning)
  yield* Effect.addFinalizer(() => Effect.ignore(flush))
  const add = (item: Item) =>
    Effect.suspend(() => {
      unwritten.add(item)
      hasItem.openUnsafe()
      return unwritten.size === maxItems ? Effect.ignore(flush) : Effect.void
    })
  return { add, flush, unwritten: unwritten as ReadonlySet<Item> }
})
