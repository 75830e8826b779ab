/** Maxima in bytes; a missing one sets no bound. */
export interface MemoryLimits {
  readonly maxBytes?: number
  /** Maximum for one key, for instance one address. */
  readonly maxBytesPerKey?: number
  /** Maximum for all reservations that only strangers need. The rest is guaranteed to accounts. */
  readonly maxBytesOfStrangers?: number
  /**
   * Each reservation takes all its bytes at once, and never grows. Then strangers and accounts have separate bytes, and one reservation of
   * each may have more than the maximum of a key, beside the others.
   */
  readonly reservesWhole?: boolean
}

/** A part of the budget: the whole, the share of accounts or strangers, or the share of one key. */
interface Share {
  readonly maxBytes: number
  /** The total: strangers need room in both, accounts in one of them. */
  readonly outer?: Share
  readonly needsOuter?: boolean
  bytes: number
  /** The reservation that may exceed the maximum, until its release. */
  exempt: MemoryReservation | undefined
}

interface KeyShare extends Share {
  readonly key: string
  reservations: number
  readonly waiting: Set<MemoryReservation>
}

interface Wait {
  readonly bytes: number
  readonly onRoom: () => void
}

/** Learns when its reservation begins to wait, and when the reservation goes on. */
export interface MemoryWaiter {
  readonly onWait: (isWaiting: boolean) => void
}

/**
 * Bytes of the documents in memory, limited in total, for strangers together, and per key.
 *
 * Reservations grow while their documents arrive. Without room, a reservation waits: keys take turns, and the oldest reservation of a key
 * comes first, so that one document becomes complete instead of parts of many. The first reservation that waits at a maximum is exempt from
 * this maximum until its release. So growing reservations never wait for each other forever, and each maximum is exceeded by one document at
 * most.
 *
 * Accounts never wait for strangers: a key of strangers is another key, and the bytes beyond the share of strangers are for accounts, even
 * while a document of strangers exceeds its maximum.
 */
export class MemoryBudget {
  readonly #total: Share
  readonly #strangers: Share
  readonly #accounts: Share
  readonly #reservesWhole: boolean
  readonly #maxBytesPerKey: number
  readonly #keys = new Map<string, KeyShare>()
  /** Keys with waiting reservations, in the order of their turns. */
  readonly #waitingKeys = new Set<KeyShare>()
  #isAdmitting = false
  #lastNumber = 0

  constructor(limits: MemoryLimits = {}) {
    this.#total = makeShare(limits.maxBytes)
    this.#reservesWhole = limits.reservesWhole ?? false
    const outer = this.#reservesWhole ? undefined : this.#total
    const { maxBytes = Infinity, maxBytesOfStrangers } = limits
    this.#strangers = { ...makeShare(maxBytesOfStrangers, outer), needsOuter: true }
    this.#accounts = makeShare(maxBytes - (maxBytesOfStrangers ?? 0), outer)
    this.#maxBytesPerKey = limits.maxBytesPerKey ?? Infinity
  }

  /** Sum of all reservations. */
  get bytes(): number {
    return this.#total.bytes
  }

  /** Maximum of the sum. */
  get maxBytes(): number {
    return this.#total.maxBytes
  }

  /** An empty reservation, to be released once. */
  reserve(given: string, isForStrangers = false, waiter?: MemoryWaiter): MemoryReservation {
    const key = isForStrangers ? `strangers ${given}` : given
    let own = this.#keys.get(key)
    if (own === undefined) {
      own = { ...makeShare(this.#maxBytesPerKey), key, reservations: 0, waiting: new Set() }
      this.#keys.set(key, own)
    }
    own.reservations++
    const ofClass = isForStrangers ? this.#strangers : this.#accounts
    return new MemoryReservation(this, {
      number: ++this.#lastNumber,
      own,
      total: this.#total,
      limiting: [ofClass, own],
      isWhole: this.#reservesWhole,
      waiter
    })
  }

  /** Appends the reservation to the waiting ones of its key. */
  enqueue(reservation: MemoryReservation): void {
    reservation.own.waiting.add(reservation)
    this.#waitingKeys.add(reservation.own)
  }

  /** Forgets a released reservation. */
  remove(reservation: MemoryReservation): void {
    const { own } = reservation
    if (own.waiting.delete(reservation) && own.waiting.size === 0) this.#waitingKeys.delete(own)
    if (--own.reservations === 0) this.#keys.delete(own.key)
    this.admitWaiting()
  }

  /** Gives room to waiting reservations: one per key and turn. */
  admitWaiting(): void {
    if (this.#isAdmitting || this.#waitingKeys.size === 0) return
    this.#isAdmitting = true
    try {
      while (this.#admitRound());
    } finally {
      this.#isAdmitting = false
    }
  }

  #admitRound(): boolean {
    let hasAdmitted = false
    for (const own of this.#waitingKeys) {
      const reservation = oldestOf(own.waiting)
      if (reservation?.admit() !== true) continue
      hasAdmitted = true
      this.#waitingKeys.delete(own)
      own.waiting.delete(reservation)
      if (own.waiting.size > 0) this.#waitingKeys.add(own)
      reservation.resume()
    }
    return hasAdmitted
  }
}

const oldestOf = (waiting: Iterable<MemoryReservation>): MemoryReservation | undefined => {
  let oldest: MemoryReservation | undefined
  for (const reservation of waiting) {
    // An exempt one first: the others may wait for its release.
    if (reservation.isExempt) return reservation
    if (oldest === undefined || reservation.number < oldest.number) oldest = reservation
  }
  return oldest
}

interface ReservationOptions {
  /** Reservations are numbered in the order of their making. */
  readonly number: number
  readonly own: KeyShare
  readonly total: Share
  /** The outer share first: its exemption includes the inner ones. */
  readonly limiting: ReadonlyArray<Share>
  readonly isWhole: boolean
  readonly waiter: MemoryWaiter | undefined
}

/** The bytes of one document. */
export class MemoryReservation {
  readonly #budget: MemoryBudget
  readonly number: number
  readonly own: KeyShare
  readonly #total: Share
  readonly #limiting: ReadonlyArray<Share>
  readonly #isWhole: boolean
  readonly #waiter: MemoryWaiter | undefined
  #bytes = 0
  #wait: Wait | undefined
  #isReleased = false

  constructor(budget: MemoryBudget, { isWhole, limiting, number, own, total, waiter }: ReservationOptions) {
    this.#budget = budget
    this.number = number
    this.own = own
    this.#total = total
    this.#limiting = limiting
    this.#isWhole = isWhole
    this.#waiter = waiter
  }

  /** Whether a share lets this reservation exceed its maximum. */
  get isExempt(): boolean {
    return this.#limiting.some(({ exempt }) => exempt === this)
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Grows if there is room at once. False otherwise, and after the release. */
  tryGrow(bytes: number): boolean {
    if (this.#isReleased || !this.#mayPass() || !this.#fits(bytes, false)) return false
    this.#add(bytes)
    return true
  }

  /** Grows and calls `onRoom`, at once or in turn; never after the release. One call waits at a time. */
  grow(bytes: number, onRoom: () => void): void {
    if (this.#isReleased) return
    if (this.#mayPass() && this.#fits(bytes, true)) {
      this.#add(bytes)
      return onRoom()
    }
    this.#wait = { bytes, onRoom }
    this.#waiter?.onWait(true)
    this.#budget.enqueue(this)
  }

  /** Returns some bytes. */
  shrink(bytes: number): void {
    if (this.#isReleased) return
    this.#add(-Math.min(bytes, this.#bytes))
    this.#budget.admitWaiting()
  }

  /** Returns all bytes, and withdraws the wait. Further calls have no effect. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#wait = undefined
    this.#add(-this.#bytes)
    for (const share of this.#limiting) {
      if (share.exempt === this) share.exempt = undefined
    }
    this.#budget.remove(this)
  }

  /** Adds the bytes of the wait if there is room. */
  admit(): boolean {
    const bytes = this.#wait?.bytes ?? 0
    if (!this.#fits(bytes, true)) return false
    this.#add(bytes)
    return true
  }

  /** Calls back after `admit`. */
  resume(): void {
    const wait = this.#wait
    this.#wait = undefined
    this.#waiter?.onWait(false)
    wait?.onRoom()
  }

  /** An exempt reservation passes the waiting ones of its key, because these may wait for its release. */
  #mayPass(): boolean {
    return this.own.waiting.size === 0 || this.isExempt
  }

  #add(bytes: number): void {
    this.#bytes += bytes
    this.#total.bytes += bytes
    if (this.#isWhole && this.isExempt) return
    for (const share of this.#limiting) share.bytes += bytes
  }

  /** Whether all shares have room. `mayExceed` takes the exemption of the first full share that has none. */
  #fits(bytes: number, mayExceed: boolean): boolean {
    // Reservations that never grow need no exemption to become complete, unless they exceed the maximum alone.
    if (this.#isWhole && bytes <= this.own.maxBytes) return this.#limiting.every((share) => hasRoom(share, bytes))
    for (const share of this.#limiting) {
      if (share.exempt === this) return true
      if (!this.#isWhole && hasRoom(share, bytes)) continue
      if (!mayExceed || share.exempt !== undefined) return false
      share.exempt = this
      return true
    }
    return true
  }
}

const makeShare = (maxBytes = Infinity, outer?: Share): Share => ({
  maxBytes,
  ...(outer === undefined ? {} : { outer }),
  bytes: 0,
  exempt: undefined
})

const hasRoom = ({ bytes: used, maxBytes, needsOuter, outer }: Share, bytes: number): boolean => {
  const hasOwnRoom = used + bytes <= maxBytes
  if (outer === undefined) return hasOwnRoom
  return needsOuter === true ? hasOwnRoom && hasRoom(outer, bytes) : hasOwnRoom || hasRoom(outer, bytes)
}
