import { Clock, Effect, Semaphore } from "effect"

/** An answer that took so long, in ms, makes its host a slow one. */
const slowness = 2_000

/** A host stays a slow one for so long after its last slow answer, ms. */
const memory = 60_000

/** Hosts that are remembered, at most. */
const mostHosts = 10_000

interface Host {
  running: number
  slowUntil: number
}

/**
 * Bounds the deliveries under way, so that slow callbacks do not stand in the way of the others.
 *
 *              ┌─ quick host, less than a quarter of the lane ─► fast lane (`width` places)
 *   delivery ──┤
 *              └─ anything else ───────────────────────────────► slow lane (a quarter of that)
 */
export class Lanes {
  readonly #fast: Semaphore.Semaphore
  readonly #slow: Semaphore.Semaphore
  readonly #share: number
  readonly #hosts = new Map<string, Host>()

  constructor(width: number) {
    this.#share = Math.ceil(width / 4)
    this.#fast = Semaphore.makeUnsafe(width)
    this.#slow = Semaphore.makeUnsafe(this.#share)
  }

  /** Runs a delivery to `name` as soon as its lane has a place. */
  through<A, E, R>(name: string, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const host = this.#of(name)
      const lane = host.slowUntil > now || host.running >= this.#share ? this.#slow : this.#fast
      return lane.withPermits(1)(Effect.suspend(() => this.#timed(name, delivery)))
    })
  }

  #timed<A, E, R>(name: string, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.acquireUseRelease(
      Effect.map(Clock.currentTimeMillis, (now) => {
        this.#of(name).running++
        return now
      }),
      () => delivery,
      (started) => Effect.map(Clock.currentTimeMillis, (now) => this.#done(name, now - started, now))
    )
  }

  #done(name: string, took: number, now: number): void {
    const host = this.#of(name)
    host.running--
    if (took >= slowness) host.slowUntil = now + memory
    else if (host.running === 0 && host.slowUntil <= now) this.#hosts.delete(name)
  }

  #of(name: string): Host {
    let host = this.#hosts.get(name)
    if (host === undefined) {
      this.#hosts.set(name, host = { running: 0, slowUntil: 0 })
      if (this.#hosts.size > mostHosts) this.#forgetOne()
    }
    return host
  }

  /** Forgets the first host that nothing is under way to: the one that was met longest ago. */
  #forgetOne(): void {
    for (const [name, { running }] of this.#hosts) {
      if (running === 0) return void this.#hosts.delete(name)
    }
  }
}
