import { type Clock, Effect } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { FifoSemaphore } from "./FifoSemaphore.ts"

/** Response time from which a host is slow, in ms. */
const slowResponseMs = 2_000

/** Time for which a host stays slow after its last slow response, in ms. */
const slowForMs = 60_000

/** Maximum of remembered slow hosts without deliveries. */
const maxIdleSlowHosts = 10_000

/** Maximum share of a lane for one host. */
const maxHostShare = 1 / 8

interface CallbackHost {
  /** Deliveries in flight or waiting. */
  deliveries: number
  slowUntil: number
  readonly permits: FifoSemaphore
  /** Its permits of the slow lane; made when the host becomes slow. */
  slowPermits?: FifoSemaphore
}

/**
 * Bounds the deliveries in flight, so that slow callbacks do not delay the others.
 *
 *                                       ┌─ fast host ─► fast lane (`maxDeliveries`)
 *   delivery ─► a permit of its host ───┤
 *               (an eighth of a lane)   └─ slow host ─► slow lane (a quarter of that)
 *
 * A delivery that waits for its host takes no permit of a lane.
 */
export class DeliveryLimiter {
  readonly #maxDeliveries: number
  readonly #clock: Clock.Clock
  readonly #fastLane: FifoSemaphore
  readonly #slowLane: FifoSemaphore
  /** Hosts with deliveries in flight or waiting. */
  readonly #busyHosts = new Map<string, CallbackHost>()
  /** Slow hosts without deliveries. */
  readonly #idleSlowHosts = new BoundedMap<string, CallbackHost>(maxIdleSlowHosts)

  constructor(maxDeliveries: number, clock: Clock.Clock) {
    this.#maxDeliveries = maxDeliveries
    this.#clock = clock
    this.#fastLane = new FifoSemaphore(maxDeliveries)
    this.#slowLane = new FifoSemaphore(Math.ceil(maxDeliveries / 4))
  }

  /** Runs a delivery as soon as its host and lane have a permit. */
  run<A, E, R>(hostname: string, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      let host: CallbackHost | undefined
      return Effect.onExit(
        Effect.suspend(() => {
          host = this.#findHost(hostname)
          host.deliveries++
          return this.#runAtHost(host, delivery)
        }),
        () => {
          if (host !== undefined) this.#leave(hostname, host)
          return Effect.void
        }
      )
    })
  }

  #runAtHost<A, E, R>(host: CallbackHost, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return host.permits.withPermit(Effect.suspend(() => this.#runInLane(host, this.#markIfSlow(host, delivery))))
  }

  #runInLane<A, E, R>(host: CallbackHost, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    if (host.slowUntil <= this.#clock.currentTimeMillisUnsafe()) return this.#fastLane.withPermit(delivery)
    host.slowPermits ??= new FifoSemaphore(Math.ceil(this.#maxDeliveries / 4 * maxHostShare))
    return host.slowPermits.withPermit(this.#slowLane.withPermit(delivery))
  }

  /** Marks the host as slow before its permits go to the next delivery, whether this one succeeds, fails or is interrupted. */
  #markIfSlow<A, E, R>(host: CallbackHost, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      const startedAt = this.#clock.currentTimeMillisUnsafe()
      return Effect.onExit(delivery, () => {
        const now = this.#clock.currentTimeMillisUnsafe()
        if (now - startedAt >= slowResponseMs) host.slowUntil = now + slowForMs
        return Effect.void
      })
    })
  }

  #leave(hostname: string, host: CallbackHost): void {
    if (--host.deliveries > 0) return
    this.#busyHosts.delete(hostname)
    if (host.slowUntil > this.#clock.currentTimeMillisUnsafe()) this.#idleSlowHosts.set(hostname, host)
  }

  #findHost(hostname: string): CallbackHost {
    const busy = this.#busyHosts.get(hostname)
    if (busy !== undefined) return busy
    const host = this.#idleSlowHosts.get(hostname) ??
      { deliveries: 0, slowUntil: 0, permits: new FifoSemaphore(Math.ceil(this.#maxDeliveries * maxHostShare)) }
    this.#idleSlowHosts.delete(hostname)
    this.#busyHosts.set(hostname, host)
    return host
  }
}
