import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import type { MemoryBudget, MemoryReservation } from "#domain/collections/MemoryBudget.ts"

/**
 * Room of the frames that wait for slow clients of streams.
 *
 * Listeners of one resource share their frames. A shared frame is reserved once, for the account of its first client.
 */
export class StreamMemory {
  readonly #budget: MemoryBudget
  readonly #reservations = new Map<Uint8Array, MemoryReservation>()
  readonly #uses = new KeyedCounter<Uint8Array>()

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  /** Reserves room for a frame that has to wait. False without room. */
  tryHold(frame: Uint8Array, key: string): boolean {
    if (!this.#reservations.has(frame)) {
      const reservation = this.#budget.reserve(key)
      let isHeld = false
      reservation.grow(frame.byteLength, () => isHeld = true)
      if (!isHeld) {
        reservation.release()
        return false
      }
      this.#reservations.set(frame, reservation)
    }
    return this.#uses.tryAdd(frame)
  }

  /** Returns the room of a frame after its last use. */
  release(frame: Uint8Array): void {
    if (!this.#reservations.has(frame) || !this.#uses.remove(frame)) return
    this.#reservations.get(frame)?.release()
    this.#reservations.delete(frame)
  }
}
