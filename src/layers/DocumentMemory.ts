import { Effect, Layer } from "effect"
import { totalmem } from "node:os"
import { getHeapStatistics } from "node:v8"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { Settings } from "#domain/ports/Settings.ts"

const mebibyte = 1024 * 1024

/** Shares of the budget: for strangers together, and for one address. */
const shareOfStrangers = 1 / 2
const shareOfKey = 1 / 4

/** Memory that the process may use, in bytes. The control group reports 0 or more than the machine has if it sets no limit. */
const processMemory = (): number =>
  Math.min(process.constrainedMemory() || Infinity, totalmem(), getHeapStatistics().heap_size_limit)

/** A budget of `maxBytes` and its shares. */
export const makeBudget = (maxBytes: number): MemoryBudget =>
  new MemoryBudget({
    maxBytes,
    maxBytesOfStrangers: maxBytes * shareOfStrangers,
    maxBytesPerKey: maxBytes * shareOfKey
  })

export const layer = Layer.effect(
  DocumentMemory,
  Effect.map(
    Settings,
    ({ documentMemoryMiB }) =>
      makeBudget(documentMemoryMiB === undefined ? Math.floor(processMemory() / 4) : documentMemoryMiB * mebibyte)
  )
)
