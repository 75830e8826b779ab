import { Context } from "effect"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"

/**
 * Memory of all documents under way in the process: fetched, unpacked, waiting to be read or stored, received, and sent as responses.
 *
 * Without a layer the memory has no bound, as in tests and tools.
 */
export const DocumentMemory = Context.Reference<MemoryBudget>("windhover/domain/ports/DocumentMemory", {
  defaultValue: () => new MemoryBudget()
})
