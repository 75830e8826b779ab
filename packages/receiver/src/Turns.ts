/** Runs the work of one key in order. Work that has to wait for other work sleeps. */
export class Turns {
  private readonly queues = new Map<string, { tail: Promise<unknown>; length: number }>()
  private readonly waiting = new Map<string, Array<number>>()
  private readonly sleepers = new Map<string, Set<() => void>>()

  /** Notifications of the key that are here. */
  countOf(key: string): number {
    return this.waiting.get(key)?.length ?? 0
  }

  /** Runs `work` after all earlier work of the key. */
  async run<A>(key: string, work: () => Promise<A>): Promise<A> {
    const queue = this.queues.get(key) ?? { tail: Promise.resolve(), length: 0 }
    this.queues.set(key, queue)
    queue.length++
    const turn = queue.tail.then(work)
    queue.tail = turn.catch(() => {})
    try {
      return await turn
    } finally {
      if (--queue.length === 0) this.queues.delete(key)
    }
  }

  /** Notes that a sequence is here. Its end wakes the sleepers of the key. */
  wait(key: string, sequence: number = Infinity): { readonly end: () => void } {
    const waiting = this.waiting.get(key) ?? []
    this.waiting.set(key, waiting)
    waiting.push(sequence)
    const end = () => {
      waiting.splice(waiting.indexOf(sequence), 1)
      if (waiting.length === 0) this.waiting.delete(key)
      this.wake(key)
    }
    return { end }
  }

  /** The lowest sequence of the key that is here, from `first` on. */
  lowestWaiting(key: string, first: number): number {
    return Math.min(...(this.waiting.get(key) ?? []).filter((sequence) => sequence >= first))
  }

  /** Ends the sleep of the key. */
  wake(key: string): void {
    for (const wake of this.sleepers.get(key) ?? []) wake()
  }

  /** Resolves at the next `wake` of the key, or after `ms`. */
  sleep(key: string, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const sleepers = this.sleepers.get(key) ?? new Set()
      this.sleepers.set(key, sleepers)
      const wake = () => {
        clearTimeout(timer)
        sleepers.delete(wake)
        if (sleepers.size === 0) this.sleepers.delete(key)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      sleepers.add(wake)
    })
  }
}
