/**
 * One timer for the deadlines of all exchanges under way.
 *
 * A hashed wheel: a deadline is put into the slot of its tick and taken out again at constant cost, which is what nearly all of them see.
 * A timer each, or `Effect.timeout`, would cost more than the rest of a cached poll.
 */
export interface TimerWheel {
  /** `expired` is called once, up to a tick late, unless the entry is cancelled before. */
  readonly add: (milliseconds: number, expired: () => void) => Deadline
  /** Lets go of `expired`, and of all that it holds. */
  readonly cancel: (deadline: Deadline) => void
  /** Deadlines that are neither over nor cancelled. */
  readonly pending: () => number
  readonly close: () => void
}

/**
 * A link of its slot's ring, which begins and ends with the slot's own.
 *
 * A Set that grows and shrinks all the time leaves its earlier tables behind; those that have grown old hold the exchanges that were in
 * them, and keep them from dying young.
 */
export interface Deadline {
  readonly due: number
  /** Undefined once it is over or cancelled. */
  expired: (() => void) | undefined
  before: Deadline | undefined
  after: Deadline | undefined
}

/** Milliseconds of one slot. */
const tick = 25

/** Slots: a turn of the wheel takes 25.6 s; a longer deadline is passed over until its turn. */
const slotCount = 1024

export const make = (): TimerWheel => {
  const slots = Array.from({ length: slotCount }, emptySlot)
  let timer: NodeJS.Timeout | undefined
  let pending = 0
  let done = 0

  /**
   * After the sockets have been read: when the process has stood still (its machine was busy, or suspended), timers come first, and the
   * answers that have come meanwhile would all be given up.
   */
  const look = () => {
    if (timer !== undefined) turn()
  }

  const turn = () => {
    const now = performance.now()
    const current = Math.floor(now / tick)
    for (let at = Math.max(done, current - slotCount) + 1; at <= current; at++) {
      for (const deadline of dueIn(slots[at % slotCount], now)) expire(deadline)
    }
    done = current
    if (pending === 0) stop()
  }

  const expire = (deadline: Deadline) => {
    const { expired } = deadline
    forget(deadline)
    expired?.()
  }

  const forget = (deadline: Deadline) => {
    if (deadline.expired === undefined) return
    deadline.expired = undefined
    unlink(deadline)
    pending--
  }

  const start = () => {
    done = Math.floor(performance.now() / tick)
    // Sockets keep the process alive while there is something to wait for.
    timer = setInterval(() => setImmediate(look), tick).unref()
  }

  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }

  return {
    add: (milliseconds, expired) => {
      if (timer === undefined) start()
      const due = performance.now() + milliseconds
      const deadline: Deadline = { due, expired, before: undefined, after: undefined }
      // The tick after it is due: in its own tick it may still be early.
      const slot = slots[(Math.floor(due / tick) + 1) % slotCount]
      if (slot !== undefined) link(deadline, slot)
      pending++
      return deadline
    },
    cancel: forget,
    pending: () => pending,
    close: stop
  }
}

const emptySlot = (): Deadline => {
  const slot: Deadline = { due: Infinity, expired: undefined, before: undefined, after: undefined }
  slot.before = slot.after = slot
  return slot
}

/** Those of a slot that are over; one that expires may cancel another of them. */
const dueIn = (slot: Deadline | undefined, now: number): ReadonlyArray<Deadline> => {
  const over: Array<Deadline> = []
  for (let deadline = slot?.after; deadline !== undefined && deadline !== slot; deadline = deadline.after) {
    if (deadline.due <= now) over.push(deadline)
  }
  return over
}

/** As the last of the slot. */
const link = (deadline: Deadline, slot: Deadline): void => {
  deadline.before = slot.before
  deadline.after = slot
  if (slot.before !== undefined) slot.before.after = deadline
  slot.before = deadline
}

const unlink = (deadline: Deadline): void => {
  if (deadline.before !== undefined) deadline.before.after = deadline.after
  if (deadline.after !== undefined) deadline.after.before = deadline.before
  deadline.before = deadline.after = undefined
}
