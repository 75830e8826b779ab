import { Effect, Layer } from "effect"
import { totalmem } from "node:os"
import { getHeapStatistics } from "node:v8"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { Settings } from "#domain/ports/Settings.ts"

const mebibyte = 1024 * 1024

/** Shares of the parts in the whole budget. Their sum is 1. */
const parts = { fetches: 3 / 8, reading: 3 / 8, exchanges: 1 / 4 }

/** Shares of a part: for strangers together, and for one address, site or account. */
const shareOfStrangers = 1 / 2
const shareOfKey = 1 / 2

/** Memory that the process may use, in bytes. The control group reports 0 or more than the machine has if it sets no limit. */
const processMemory = (): number =>
  Math.min(process.constrainedMemory() || Infinity, totalmem(), getHeapStatistics().heap_size_limit)

/** A part of `maxBytes` and its shares. */
export const makePart = (maxBytes: number, { reservesWhole = false } = {}): MemoryBudget =>
  new MemoryBudget({
    maxBytes,
    maxBytesOfStrangers: maxBytes * shareOfStrangers,
    maxBytesPerKey: maxBytes * shareOfKey,
    reservesWhole
  })

export const layer = Layer.effect(
  DocumentMemory,
  Effect.map(Settings, ({ documentMemoryMiB }) => {
    const maxBytes = documentMemoryMiB === undefined ? Math.floor(processMemory() / 4) : documentMemoryMiB * mebibyte
    return {
      fetches: makePart(maxBytes * parts.fetches),
      reading: makePart(maxBytes * parts.reading, { reservesWhole: true }),
      exchanges: makePart(maxBytes * parts.exchanges)
    }
  })
)
