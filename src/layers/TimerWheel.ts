/**
 * One timer for the deadlines of all running exchanges.
 *
 * A hashed wheel: adding a deadline to its slot and cancelling it take constant time, and nearly all deadlines are cancelled. A Node timer
 * or an `Effect.timeout` for each deadline would cost more than the rest of a cached poll.
 */
export interface TimerWheel {
  /** Calls `onExpire` once, at most one tick late, unless the timer is cancelled first. */
  readonly add: (milliseconds: number, onExpire: () => void) => WheelTimer
  /** Drops the reference to `onExpire`, and so to everything that the callback holds. */
  readonly cancel: (timer: WheelTimer) => void
  /** Number of timers that have neither expired nor been cancelled. */
  readonly pending: () => number
  readonly close: () => void
}

/**
 * A node in the linked ring of its slot. The ring begins and ends with the slot's own node.
 *
 * A Set that grows and shrinks constantly leaves old tables behind. Such tables, once tenured, keep dead exchanges alive.
 */
export interface WheelTimer {
  readonly due: number
  /** Undefined after expiry or cancellation. */
  onExpire: (() => void) | undefined
  previous: WheelTimer | undefined
  next: WheelTimer | undefined
}

const tickMs = 25

/** One turn of the wheel takes 25.6 s. Longer timers are skipped until their turn. */
const slotCount = 1024

export const make = (): TimerWheel => {
  const slots = Array.from({ length: slotCount }, emptySlot)
  let interval: NodeJS.Timeout | undefined
  let pending = 0
  let lastTick = 0

  const expireDue = () => {
    const now = performance.now()
    const currentTick = Math.floor(now / tickMs)
    for (let tick = Math.max(lastTick, currentTick - slotCount) + 1; tick <= currentTick; tick++) {
      for (const timer of findDue(slots[tick % slotCount], now)) expire(timer)
    }
    lastTick = currentTick
    if (pending === 0) stop()
  }

  const expire = (timer: WheelTimer) => {
    const { onExpire } = timer
    remove(timer)
    onExpire?.()
  }

  const remove = (timer: WheelTimer) => {
    if (timer.onExpire === undefined) return
    timer.onExpire = undefined
    unlink(timer)
    pending--
  }

  const start = () => {
    lastTick = Math.floor(performance.now() / tickMs)
    // `setImmediate` runs after the sockets have been read. After a standstill of the process (a busy or suspended machine), timers
    // would otherwise run first and fail exchanges whose responses have already arrived.
    const afterSockets = () => setImmediate(() => interval !== undefined && expireDue())
    // Unreferenced: open sockets keep the process alive as long as a timer matters.
    interval = setInterval(afterSockets, tickMs).unref()
  }

  const stop = () => {
    clearInterval(interval)
    interval = undefined
  }

  return {
    add: (milliseconds, onExpire) => {
      if (interval === undefined) start()
      const due = performance.now() + milliseconds
      const timer: WheelTimer = { due, onExpire, previous: undefined, next: undefined }
      // The slot after the due tick: within the due tick it could still be too early.
      const slot = slots[(Math.floor(due / tickMs) + 1) % slotCount]
      if (slot !== undefined) link(timer, slot)
      pending++
      return timer
    },
    cancel: remove,
    pending: () => pending,
    close: stop
  }
}

const emptySlot = (): WheelTimer => {
  const slot: WheelTimer = { due: Infinity, onExpire: undefined, previous: undefined, next: undefined }
  slot.previous = slot.next = slot
  return slot
}

/** Copies the due timers of a slot first, because an expiring timer may cancel another. */
const findDue = (slot: WheelTimer | undefined, now: number): ReadonlyArray<WheelTimer> => {
  const due: Array<WheelTimer> = []
  for (let timer = slot?.next; timer !== undefined && timer !== slot; timer = timer.next) {
    if (timer.due <= now) due.push(timer)
  }
  return due
}

/** Appends a timer to the ring of its slot. */
const link = (timer: WheelTimer, slot: WheelTimer): void => {
  timer.previous = slot.previous
  timer.next = slot
  if (slot.previous !== undefined) slot.previous.next = timer
  slot.previous = timer
}

const unlink = (timer: WheelTimer): void => {
  if (timer.previous !== undefined) timer.previous.next = timer.next
  if (timer.next !== undefined) timer.next.previous = timer.previous
  timer.previous = timer.next = undefined
}
