import type { MemoryBudget, MemoryReservation, MemoryWaiter } from "#domain/collections/MemoryBudget.ts"

/** The budget of a body, and whether only strangers need the body. */
export interface BodyMemory {
  readonly budget: MemoryBudget
  readonly isForStrangers: boolean
  readonly waiter?: MemoryWaiter
}

/**
 * Room of an arriving body in the budget.
 *
 * A chunk is in memory before its size is known. A body without room for its last chunk stops its connection, and waits.
 */
export class BodyRoom {
  readonly #memory: BodyMemory
  readonly #host: string
  #reservation: MemoryReservation | undefined
  #neededBytes = 0
  #isWaiting = false
  #onRoom: (() => void) | undefined
  #isReleased = false

  constructor(memory: BodyMemory, host: string) {
    this.#memory = memory
    this.#host = host
  }

  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** Grows to `bytes`, now or in turn. The address of the server is the key; without an address, the name of the host is. */
  growTo(bytes: number, address: string | undefined): void {
    if (this.#isReleased) return
    // The whole document has one reservation: a second one could wait for the exemption of the first one.
    const { budget, isForStrangers, waiter } = this.#memory
    this.#reservation ??= budget.reserve(address ?? this.#host, isForStrangers, waiter)
    this.#neededBytes = Math.max(this.#neededBytes, bytes)
    const missing = this.#neededBytes - this.#reservation.bytes
    if (this.#isWaiting || missing <= 0 || this.#reservation.tryGrow(missing)) return
    this.#isWaiting = true
    this.#reservation.grow(missing, () => this.#onGrown(address))
  }

  /** Called once there is room for all bytes. Replaces an earlier callback. */
  onRoom(callback: () => void): void {
    if (this.#isWaiting) this.#onRoom = callback
    else callback()
  }

  /** Passes the reservation on, to grow further and to be released by the caller. Undefined without a body, and when called again. */
  take(): MemoryReservation | undefined {
    const reservation = this.#reservation
    this.#isReleased = true
    this.#reservation = undefined
    return reservation
  }

  release(): void {
    this.#isReleased = true
    this.#isWaiting = false
    this.#onRoom = undefined
    this.#reservation?.release()
  }

  /** More bytes may have arrived during the wait. */
  #onGrown(address: string | undefined): void {
    this.#isWaiting = false
    this.growTo(this.#neededBytes, address)
    if (this.#isWaiting) return
    const callback = this.#onRoom
    this.#onRoom = undefined
    callback?.()
  }
}
