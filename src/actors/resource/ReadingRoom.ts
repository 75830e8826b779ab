import type { Effect } from "effect"
import type { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { withRoom } from "#actors/limits/MemoryRoom.ts"
import { readingBytes } from "#domain/poll/ReadingMemory.ts"
import type { MemoryBudget } from "#domain/collections/MemoryBudget.ts"
import type { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import { workerTurnOf } from "#domain/poll/WorkerTurn.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"

/** Documents of accounts from so many bytes on precede the work of strangers. Smaller ones take milliseconds, unless a request waits for one. */
const minPrecedingBytes = 64 * 1024

interface ReadingRoom {
  readonly precedence: AccountPrecedence
  readonly readingMemory: MemoryBudget
  /** One large document of strangers at a time: two of them would take both processors of a small machine from the accounts. */
  readonly strangersDocuments: FifoSemaphore
}

/**
 * Runs `effect` once there is room for the copies of a large document: in the thread, as entries, and as parameters of statements.
 *
 * Strangers' work waits meanwhile for a large document of an account, and for one that `isAwaited` by a request.
 */
export const inReadingRoom = <A>(
  { precedence, readingMemory, strangersDocuments }: ReadingRoom,
  resource: ResourceState,
  { body }: Fetched,
  isAwaited: boolean,
  effect: Effect.Effect<A>
): Effect.Effect<A> => {
  const bytes = readingBytes(resource.url, body)
  const isOfStrangers = resource.strangersOnly === true
  const one = bytes > 0 && isOfStrangers ? strangersDocuments.withPermit(effect) : effect
  const run = bytes === 0 ? effect : withRoom(readingMemory, { ...workerTurnOf(resource), bytes }, one)
  return !isOfStrangers && (isAwaited || body.length >= minPrecedingBytes) ? precedence.withPrecedence(run) : run
}
