import { Effect, Latch, Schedule, Semaphore } from "effect"
import { StoreError, warnOfStoreError } from "#domain/ports/StoreError.ts"
import { chunksOf } from "./Batched.ts"

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
  /** Number of items that starts a write at once, and maximum of items per statement. */
  readonly flushAt: number
  /** One statement for all items. */
  readonly write: (items: ReadonlyArray<Item>) => Effect.Effect<unknown, StoreError>
  /** Whether an item that fails alone as a `Defect` is dropped. Otherwise its write is repeated. */
  readonly dropsDefects: boolean
  /** Text of the warning about a failed statement. */
  readonly warning: string
}

/**
 * Keeps items in memory and writes them in bulk, in the background and when the scope closes. Items of a failed statement are kept and
 * written again, after a second; a crash loses them. After a `Defect` each item has a statement of its own.
 */
export const makeWriteBehind = Effect.fnUntraced(function*<Item>(
  { delayMs, dropsDefects, flushAt, warning, write }: WriteBehindOptions<Item>
) {
  const unwritten = new Set<Item>()
  let keepsDefect = false
  const forget = (items: ReadonlyArray<Item>) => Effect.sync(() => items.forEach((item) => unwritten.delete(item)))
  const writeAll = (items: ReadonlyArray<Item>): Effect.Effect<void, StoreError> =>
    write(items).pipe(
      Effect.catchDefect((defect) => Effect.fail(defectError(defect))),
      Effect.andThen(forget(items)),
      Effect.catchIf(isDefect, (error) => {
        if (items.length > 1) return Effect.forEach(items, (item) => writeAll([item]), { discard: true })
        keepsDefect ||= !dropsDefects
        return Effect.andThen(warnOfStoreError(warning)(error), dropsDefects ? forget(items) : Effect.void)
      })
    )
  const semaphore = yield* Semaphore.make(1)
  const flush = semaphore.withPermits(1)(
    Effect.suspend(() => Effect.forEach(chunksOf([...unwritten], flushAt), writeAll, { discard: true }))
  )
  // The fiber sleeps until there is an item: a look every 50 ms costs as much as fifty polls.
  const hasItem = yield* Latch.make(false)
  const flushSoon = Effect.suspend(() => unwritten.size > 0 ? Effect.void : hasItem.await).pipe(
    Effect.andThen(Effect.sleep(delayMs)),
    Effect.andThen(hasItem.close),
    Effect.andThen(flush),
    Effect.andThen(Effect.suspend(() => {
      if (!keepsDefect) return Effect.void
      keepsDefect = false
      return Effect.sleep("1 second")
    })),
    Effect.tapError(() => Effect.sleep("1 second"))
  )
  yield* repeatInBackground(flushSoon, Schedule.forever, warning)
  yield* Effect.addFinalizer(() => Effect.ignore(flush))
  const add = (item: Item) =>
    Effect.suspend(() => {
      unwritten.add(item)
      hasItem.openUnsafe()
      return unwritten.size === flushAt ? Effect.ignore(flush) : Effect.void
    })
  return { add, flush, unwritten: unwritten as ReadonlySet<Item> }
})

const isDefect = ({ reason }: StoreError): boolean => reason._tag === "Defect"

const defectError = (defect: unknown) => new StoreError({ reason: { _tag: "Defect", message: String(defect) } })
