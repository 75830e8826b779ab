import { Context } from "effect"
import { MemoryBudget } from "#domain/collections/MemoryBudget.ts"

/**
 * Memory of all documents under way in the process: one budget, in three parts. A document that holds bytes of one part waits for the next
 * part only, so that no part waits for itself.
 *
 *   fetches ──► reading ──► database        database, network ──► exchanges ──► network
 */
interface DocumentBudgets {
  /** Documents that are fetched and unpacked, until they are read. */
  readonly fetches: MemoryBudget
  /** Copies of large documents while they are read, selected from and recorded. */
  readonly reading: MemoryBudget
  /** Received requests and pushes, large responses, and large deliveries. */
  readonly exchanges: MemoryBudget
}

/** Without a layer the memory has no bound, as in tests and tools. */
export const DocumentMemory = Context.Reference<DocumentBudgets>("windhover/domain/ports/DocumentMemory", {
  defaultValue: () => ({ fetches: new MemoryBudget(), reading: new MemoryBudget(), exchanges: new MemoryBudget() })
})
