/** Fetches of one host under way at once. */
export const perHost = 2

/** Fetches that begin one right after the other, before they are spaced. */
const burst = 10

/** The longest wait that spacing adds, in ms: who comes then is one of very many, and waits for its turn only. */
const longestWait = 300_000

/** Of those that were put off by a pause and come during the next one, one is let in after so many ms. */
const probeSpacing = 60_000

/** Who was put off is remembered for so long after the pause, ms. */
const putOffFor = 3_600_000

/** Who waits for its turn looks again after so many ms, in case it was not called. */
const patience = 60_000

/** Hosts that are kept before those that nobody needs are forgotten: to make one for each fetch and forget it would cost more than the rest of politeness. */
const mostHosts = 32

interface Host {
  running: number
  /** Resources that wait for their turn, in order; each once. */
  queue: Set<number>
  /** Resources that have a time from which on they may begin. */
  given: Set<number>
  /** Epoch ms: the time after the last one that was given. */
  next: number
  /** Epoch ms: the server asked to be left alone since and until then; 0: it did not. */
  heldSince: number
  pausedUntil: number
  /** Resources that a pause has put off, and have not been fetched since: their time, and whether it stands whatever the host asks for until then. */
  putOff: Map<number, { readonly at: number; readonly stands: boolean }>
  /** Epoch ms: the time after the last one that stands. */
  nextProbe: number
}

/**
 * Politeness: who may fetch from a host of this partition now.
 *
 * Waiting takes no fiber: who is not let in is remembered, rests, and is called when another has left, or when its time has come. A call may
 * be lost (its actor was stopped), so who waits has an alarm as well. Times are epoch milliseconds.
 */
export class HostThrottle {
  readonly #hosts = new Map<string, Host>()
  #hostsAtMost = mostHosts
  readonly #spacing: number

  /** `spacing`: milliseconds between the beginnings of two fetches of a host, once there were many. */
  constructor(spacing: number) {
    this.#spacing = spacing
  }

  /** Hosts that somebody fetches from, waits for or has to leave alone, and up to as many others, or a few. */
  get size(): number {
    return this.#hosts.size
  }

  /** Lets `id` in (0), or gives the time at which it is to look again. */
  enter(name: string, id: number, now: number): number {
    const host = this.#of(name, now)
    const begins = host.given.has(id) ? now : this.#timeOf(host, id, now)
    if (begins > now) return begins
    if (host.running >= perHost) {
      host.given = added(host.given, id)
      host.queue = added(host.queue, id)
      return now + patience
    }
    host.given.delete(id)
    host.queue.delete(id)
    host.putOff.delete(id)
    host.running++
    return 0
  }

  /** Who has its turn, now that one of those that were let in has left. */
  leave(name: string, now: number): ReadonlyArray<number> {
    const host = this.#of(name, now)
    host.running--
    if (host.queue.size === 0) return noIds
    const called: Array<number> = []
    for (const id of host.queue) {
      if (called.length >= perHost - host.running) break
      host.queue.delete(id)
      called.push(id)
    }
    return called
  }

  /** Nobody fetches from the host from now until then. */
  pause(name: string, now: number, until: number): void {
    if (until <= now) return
    const host = this.#of(name, now)
    if (host.pausedUntil + putOffFor <= now) host.putOff = none
    if (host.pausedUntil <= now) host.heldSince = now
    host.pausedUntil = Math.max(host.pausedUntil, until)
  }

  /**
   * When `id`, which is due now, may fetch from a host that is left alone; undefined where it is not.
   *
   * What comes due meanwhile is put off by the length of the pause, and so does not come together at its end. Nobody is put off for ever: one
   * resource may be refused each time, for reasons of its own, while the host would answer all others. Who has sat one pause out is let in during
   * the next, one a minute.
   */
  pausedUntil(name: string, id: number, now: number): number | undefined {
    const host = this.#hosts.get(name)
    if (host === undefined || host.pausedUntil <= now) return undefined
    const after = host.pausedUntil + now - host.heldSince
    const own = host.putOff.get(id)
    if (own === undefined) return putOff(host, id, after, false)
    if (own.at > now) return own.at
    if (own.stands) return undefined
    const probe = Math.max(host.nextProbe, now)
    if (probe >= after) return putOff(host, id, after, false)
    host.nextProbe = probe + probeSpacing
    return probe === now ? undefined : putOff(host, id, probe, true)
  }

  /** When `id` may begin, for the spacing's sake; who has to wait has that time for its own. */
  #timeOf(host: Host, id: number, now: number): number {
    if (host.next < now) {
      host.next = now
      host.given.clear() // whoever did not come takes a new time
    }
    const begins = host.next - (burst - 1) * this.#spacing
    if (begins < now + longestWait) host.next += this.#spacing
    if (begins > now) host.given = added(host.given, id)
    return begins
  }

  #of(name: string, now: number): Host {
    let host = this.#hosts.get(name)
    if (host === undefined) {
      if (this.#hosts.size >= this.#hostsAtMost) this.#forget(now)
      host = {
        running: 0,
        queue: nobody,
        given: nobody,
        next: 0,
        heldSince: 0,
        pausedUntil: 0,
        putOff: none,
        nextProbe: 0
      }
      this.#hosts.set(name, host)
    }
    return host
  }

  /** A look at all of them, which is rare: the more are needed, the more come before the next. */
  #forget(now: number): void {
    for (const [name, host] of this.#hosts) {
      if (!isNeeded(host, now)) this.#hosts.delete(name)
    }
    this.#hostsAtMost = Math.max(mostHosts, 2 * this.#hosts.size)
  }
}

const isNeeded = ({ pausedUntil: heldUntil, next, putOff, queue, running }: Host, now: number): boolean =>
  running > 0 || queue.size > 0 || next > now || heldUntil + (putOff.size > 0 ? putOffFor : 0) > now

const putOff = (host: Host, id: number, at: number, stands: boolean): number => {
  if (host.putOff === none) host.putOff = new Map()
  host.putOff.set(id, { at, stands })
  return at
}

const none: Host["putOff"] = new Map()

const noIds: ReadonlyArray<number> = []

/** Of nearly all hosts: a set is made for the first who has to wait. */
const nobody: Set<number> = new Set()

const added = (waiting: Set<number>, id: number): Set<number> =>
  (waiting === nobody ? new Set<number>() : waiting).add(id)
