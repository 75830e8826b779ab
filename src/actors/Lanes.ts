import { Clock, Effect } from "effect"
import { Places } from "./Places.ts"

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
  readonly places: Places
  /** Its places in the slow lane; not made before it is slow. */
  slowPlaces?: Places
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
export class Lanes {
  readonly #width: number
  readonly #fast: Places
  readonly #slow: Places
  /** Hosts that deliveries are under way to, or wait for. */
  readonly #busy = new Map<string, Host>()
  /** Slow hosts that are not busy; the one that was met longest ago first. */
  readonly #resting = new Map<string, Host>()

  constructor(width: number) {
    this.#width = width
    this.#fast = new Places(width)
    this.#slow = new Places(Math.ceil(width / 4))
  }

  /** Runs a delivery to `name` as soon as its host and its lane have a place. */
  through<A, E, R>(name: string, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const host = this.#of(name)
        host.users++
        return host
      }),
      (host) =>
        host.places.through(Effect.flatMap(Clock.currentTimeMillis, (now) => this.#inLane(host, now, delivery))),
      (host) => Effect.map(Clock.currentTimeMillis, (now) => this.#leave(name, host, now))
    )
  }

  #inLane<A, E, R>(host: Host, now: number, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    const timed = Effect.suspend(() => this.#timed(host, delivery))
    if (host.slowUntil <= now) return this.#fast.through(timed)
    host.slowPlaces ??= new Places(Math.ceil(this.#width / 4 * hostShare))
    return host.slowPlaces.through(this.#slow.through(timed))
  }

  /** However it ends: an answer, none, or an interruption. */
  #timed<A, E, R>(host: Host, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Clock.currentTimeMillis,
      () => delivery,
      (started) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          if (now - started >= slowness) host.slowUntil = now + memory
        })
    )
  }

  #leave(name: string, host: Host, now: number): void {
    if (--host.users > 0) return
    this.#busy.delete(name)
    if (host.slowUntil > now) this.#rest(name, host)
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
      { users: 0, slowUntil: 0, places: new Places(Math.ceil(this.#width * hostShare)) }
    this.#resting.delete(name)
    this.#busy.set(name, host)
    return host
  }
}
