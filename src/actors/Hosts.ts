/** Fetches of one host under way at once. */
export const perHost = 2

interface Host {
  running: number
  /** Resources that wait for their turn, in order; each once. */
  readonly queue: Set<number>
  /** Epoch ms: the server asked to be left alone until then. */
  heldUntil: number
}

/**
 * Politeness: who may fetch from a host of this partition now.
 *
 * Waiting takes no fiber: who is not let in is remembered, rests, and is called when another has left. A call may be lost (its actor was
 * stopped), so who waits has an alarm as well.
 */
export class Hosts {
  readonly #hosts = new Map<string, Host>()

  /** Hosts that somebody fetches from, waits for or has to leave alone. */
  get size(): number {
    return this.#hosts.size
  }

  /** Lets `id` in, or remembers that it waits. */
  enter(name: string, id: number): boolean {
    const host = this.#of(name)
    if (host.running >= perHost) {
      host.queue.add(id)
      return false
    }
    host.queue.delete(id)
    host.running++
    return true
  }

  /** Who has its turn, now that one of those that were let in has left. */
  leave(name: string): ReadonlyArray<number> {
    const host = this.#of(name)
    host.running--
    const called: Array<number> = []
    for (const id of host.queue) {
      if (called.length >= perHost - host.running) break
      host.queue.delete(id)
      called.push(id)
    }
    if (host.running === 0 && host.queue.size === 0 && host.heldUntil === 0) this.#hosts.delete(name)
    return called
  }

  /** Nobody fetches from the host until then, epoch ms. */
  holdOff(name: string, until: number): void {
    const host = this.#of(name)
    host.heldUntil = Math.max(host.heldUntil, until)
  }

  /** Until when the host is left alone; undefined when it may be fetched from. */
  heldUntil(name: string, now: number): number | undefined {
    const host = this.#hosts.get(name)
    if (host === undefined || host.heldUntil === 0) return undefined
    if (host.heldUntil > now) return host.heldUntil
    host.heldUntil = 0
    if (host.running === 0 && host.queue.size === 0) this.#hosts.delete(name)
    return undefined
  }

  #of(name: string): Host {
    let host = this.#hosts.get(name)
    if (host === undefined) this.#hosts.set(name, host = { running: 0, queue: new Set(), heldUntil: 0 })
    return host
  }
}
