import { type Clock, Effect } from "effect"
import { FifoSemaphore } from "./FifoSemaphore.ts"

/** An answer that took so long, in ms, makes its host a slow one. */
const slowness = 2_000

/** A host stays a slow one for so long after its last slow answer, ms. */
const memory = 60_000

/** Slow hosts that are remembered, at most. */
const mostHosts = 10_000

/** A host has this part of the places of a lane, at most. */
const hostShare = 1 / 8

interface Host {
  /** Deliveries to it, those that wait included. */
  users: number
  slowUntil: number
  readonly places: FifoSemaphore
  /** Its places in the slow lane; not made before it is slow. */
  slowPlaces?: FifoSemaphore
}

/**
 * Bounds the deliveries under way, so that slow callbacks do not stand in the way of the others.
 *
 *                                      ┌─ quick host ─► fast lane (`width` places)
 *   delivery ─► a place of its host ───┤
 *               (an eighth of a lane)  └─ slow host ──► slow lane (a quarter of that)
 *
 * What waits for its host takes no place that another one could use.
 */
export class DeliveryLimiter {
  readonly #width: number
  readonly #clock: Clock.Clock
  readonly #fast: FifoSemaphore
  readonly #slow: FifoSemaphore
  /** Hosts that deliveries are under way to, or wait for. */
  readonly #busy = new Map<string, Host>()
  /** Slow hosts that are not busy; the one that was met longest ago first. */
  readonly #resting = new Map<string, Host>()

  constructor(width: number, clock: Clock.Clock) {
    this.#width = width
    this.#clock = clock
    this.#fast = new FifoSemaphore(width)
    this.#slow = new FifoSemaphore(Math.ceil(width / 4))
  }

  /** Runs a delivery to `name` as soon as its host and its lane have a place. */
  run<A, E, R>(name: string, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      let host: Host | undefined
      return Effect.onExit(
        Effect.suspend(() => {
          host = this.#of(name)
          host.users++
          return this.#toHost(host, delivery)
        }),
        () => {
          if (host !== undefined) this.#leave(name, host)
          return Effect.void
        }
      )
    })
  }

  #toHost<A, E, R>(host: Host, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return host.places.withPermit(Effect.suspend(() => this.#inLane(host, this.#timed(host, delivery))))
  }

  #inLane<A, E, R>(host: Host, timed: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    if (host.slowUntil <= this.#clock.currentTimeMillisUnsafe()) return this.#fast.withPermit(timed)
    host.slowPlaces ??= new FifoSemaphore(Math.ceil(this.#width / 4 * hostShare))
    return host.slowPlaces.withPermit(this.#slow.withPermit(timed))
  }

  /** However it ends: an answer, none, or an interruption. It is known before its places are left to others. */
  #timed<A, E, R>(host: Host, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const started = this.#clock.currentTimeMillisUnsafe()
      return Effect.onExit(delivery, () => {
        const now = this.#clock.currentTimeMillisUnsafe()
        if (now - started >= slowness) host.slowUntil = now + memory
        return Effect.void
      })
    })
  }

  #leave(name: string, host: Host): void {
    if (--host.users > 0) return
    this.#busy.delete(name)
    if (host.slowUntil > this.#clock.currentTimeMillisUnsafe()) this.#rest(name, host)
  }

  #rest(name: string, host: Host): void {
    this.#resting.set(name, host)
    if (this.#resting.size <= mostHosts) return
    const [oldest] = this.#resting.keys()
    if (oldest !== undefined) this.#resting.delete(oldest)
  }

  #of(name: string): Host {
    const busy = this.#busy.get(name)
    if (busy !== undefined) return busy
    const host = this.#resting.get(name) ??
      { users: 0, slowUntil: 0, places: new FifoSemaphore(Math.ceil(this.#width * hostShare)) }
    this.#resting.delete(name)
    this.#busy.set(name, host)
    return host
  }
}
