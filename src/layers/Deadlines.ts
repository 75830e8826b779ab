/**
 * One timer for the deadlines of all exchanges under way.
 *
 * A hashed wheel: a deadline is put into the slot of its tick and taken out again at constant cost, which is what nearly all of them see.
 * A timer each, or `Effect.timeout`, would cost more than the rest of a cached poll.
 */
export interface Deadlines {
  /** `expired` is called once, up to a tick late, unless the entry is cancelled before. */
  readonly add: (milliseconds: number, expired: () => void) => Deadline
  readonly cancel: (deadline: Deadline) => void
  readonly close: () => void
}

export interface Deadline {
  readonly due: number
  readonly expired: () => void
  readonly slot: Set<Deadline>
}

/** Milliseconds of one slot. */
const tick = 25

/** Slots: a turn of the wheel takes 25.6 s; a longer deadline is passed over until its turn. */
const slotCount = 1024

export const make = (): Deadlines => {
  const slots = Array.from({ length: slotCount }, () => new Set<Deadline>())
  let timer: NodeJS.Timeout | undefined
  let pending = 0
  let done = 0

  const turn = () => {
    const now = performance.now()
    const current = Math.floor(now / tick)
    for (let at = Math.max(done, current - slotCount) + 1; at <= current; at++) expire(slotOf(at), now)
    done = current
    if (pending === 0) stop()
  }

  const expire = (slot: Set<Deadline>, now: number) => {
    for (const deadline of slot) {
      if (deadline.due > now) continue
      slot.delete(deadline)
      pending--
      deadline.expired()
    }
  }

  const slotOf = (at: number): Set<Deadline> => slots[at % slotCount] ?? new Set()

  const start = () => {
    done = Math.floor(performance.now() / tick)
    // Sockets keep the process alive while there is something to wait for.
    timer = setInterval(turn, tick).unref()
  }

  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }

  return {
    add: (milliseconds, expired) => {
      if (timer === undefined) start()
      const due = performance.now() + milliseconds
      // The tick after it is due: in its own tick it may still be early.
      const slot = slotOf(Math.floor(due / tick) + 1)
      const deadline = { due, expired, slot }
      slot.add(deadline)
      pending++
      return deadline
    },
    cancel: (deadline) => {
      if (deadline.slot.delete(deadline)) pending--
    },
    close: stop
  }
}
