import { Cause, Clock, Effect, Exit, type Scope } from "effect"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { FifoSemaphore } from "./FifoSemaphore.ts"

/** Response time from which a callback is slow, in ms. A host without faster responses is slow as a whole. */
const slowResponseMs = 2_000

/** Age of the last prompt response from which a slow response makes the whole host slow, in ms. */
const promptForMs = 10_000

/** Time for which a host stays slow after its last slow response, in ms. A prompt response ends this time. */
const slowForMs = 60_000

/** Maximum of remembered slow hosts without deliveries. */
const maxIdleSlowHosts = 10_000

/** A delivery is overdue after this multiple of the usual response time of its host. */
const overdueFactor = 4

/** Usual response time of a host before its first prompt response, in ms. */
const firstUsualMs = 50

/** Bounds of the time until a delivery is overdue, in ms. */
const overdueBoundsMs = { min: 100, max: slowResponseMs }

/** Weight of the last response in the usual response time. */
const responseWeight = 1 / 8

/** Interval between two searches for overdue deliveries while other deliveries wait, in ms. */
const overdueCheckMs = 50

export interface DeliveryLimiterOptions {
  /** Deliveries in flight to prompt callbacks of all hosts. The slow lane has a quarter of this number. */
  readonly maxDeliveries: number
  /** Deliveries in flight to prompt callbacks of one host, and to its unknown callbacks. */
  readonly maxPerHost: number
  /** Overdue deliveries of all hosts, in addition. A host may have a quarter of this number. */
  readonly maxOverdue: number
}

/** The memory of one callback, which its subscription keeps. */
export interface CallbackRecord {
  /** Speed of the last response: `unknown` before the first one, `hung` when none came within 2 s and the delivery failed. */
  speed: "unknown" | "prompt" | "slow" | "hung"
  /** The last attempt failed. */
  isFailing?: boolean
}

interface CallbackHost {
  /** Deliveries in flight or waiting. */
  deliveries: number
  /** Overdue deliveries in flight. */
  overdue: number
  slowUntil: number
  lastPromptAt: number
  /** Usual duration of a prompt response, in ms; undefined before the first one. */
  usualMs: number | undefined
  /** Deliveries in the fast lane, the oldest first. */
  readonly inFlight: Set<DeliveryTurn>
  promptPermits?: FifoSemaphore
  unknownPermits?: FifoSemaphore
  /** Permits of the slow lane, for prompt and unknown callbacks of a slow host. */
  slowPermits?: FifoSemaphore
  /** Permits of the slow lane for slow callbacks, and for hanging ones. */
  slowCallbackPermits?: FifoSemaphore
  hungCallbackPermits?: FifoSemaphore
}

/** The way of one delivery through the limiter. */
interface DeliveryTurn {
  readonly host: CallbackHost
  readonly callback: CallbackRecord
  readonly held: Array<FifoSemaphore>
  /** Epoch ms; undefined while the delivery waits. */
  startedAt: number | undefined
  isOverdue: boolean
}

/**
 * Bounds the deliveries in flight, so that slow callbacks delay neither other hosts nor prompt callbacks of their own host.
 *
 *                 ┌─ prompt ──► `maxPerHost` permits of its host ─┬─ fast host ─► fast lane (`maxDeliveries`)
 *   callback ─────┼─ unknown ─► as many others ──────────────────┴─ slow host ─► slow lane (a quarter of that)
 *                 ├─ slow: its last response took 2 s or more ─────────────────► an eighth of the slow lane
 *                 └─ hung: no response ──────────────────────────► another eighth of the slow lane
 *
 * A delivery to a callback that begins to hang is overdue after four usual response times of its host. While other deliveries wait, an overdue
 * delivery goes on without its permits. So a hanging callback delays its host once, for 0.1 s, and then competes with hanging callbacks only.
 */
export class DeliveryLimiter {
  readonly #options: DeliveryLimiterOptions
  readonly #clock: Clock.Clock
  readonly #scope: Scope.Scope
  #isWatching = false
  readonly #fastLane: FifoSemaphore
  readonly #slowLane: FifoSemaphore
  readonly #maxSlow: number
  /** Hosts with deliveries in flight or waiting. */
  readonly #busyHosts = new Map<string, CallbackHost>()
  /** Slow hosts without deliveries. */
  readonly #idleSlowHosts = new BoundedMap<string, CallbackHost>(maxIdleSlowHosts)
  #overdue = 0

  constructor(options: DeliveryLimiterOptions, clock: Clock.Clock, scope: Scope.Scope) {
    this.#options = options
    this.#clock = clock
    this.#scope = scope
    this.#fastLane = new FifoSemaphore(options.maxDeliveries)
    this.#maxSlow = Math.ceil(options.maxDeliveries / 4)
    this.#slowLane = new FifoSemaphore(this.#maxSlow)
  }

  /** Runs a delivery as soon as its host and lane have a permit. Records the speed of the response in `callback`. */
  run<A, E, R>(
    hostname: string,
    callback: CallbackRecord,
    delivery: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      let turn: DeliveryTurn | undefined
      return Effect.onExit(
        Effect.suspend(() => {
          const host = this.#findHost(hostname)
          host.deliveries++
          turn = { host, callback, held: [], startedAt: undefined, isOverdue: false }
          return this.#acquire(turn, delivery)
        }),
        (exit) => {
          if (turn !== undefined) this.#end(hostname, turn, exit)
          return Effect.void
        }
      )
    })
  }

  /** Takes the remaining permits of a turn, and starts its delivery. A permit counts as held at once, so that an interruption loses none. */
  #acquire<A, E, R>(turn: DeliveryTurn, delivery: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    if (this.#takePermits(turn) === undefined) return delivery
    const wait = Effect.callback<A, E, R>((resume) => {
      let leave: (() => void) | undefined
      // Takes the missing permit once more, because its last holder may have released the permit before this fiber came here.
      const proceed = () => {
        const missing = this.#takePermits(turn)
        if (missing === undefined) return resume(delivery)
        leave = missing.queue(() => {
          turn.held.push(missing)
          proceed()
        })
      }
      proceed()
      return Effect.sync(() => leave?.())
    })
    return this.#isWatching ? wait : Effect.andThen(this.#watch, wait)
  }

  /** Takes the free permits of a turn, up to the returned one, which is not free. The turn starts with its last permit. */
  #takePermits(turn: DeliveryTurn): FifoSemaphore | undefined {
    for (let next = this.#nextPermit(turn); next !== undefined; next = this.#nextPermit(turn)) {
      if (!next.tryAcquire()) return next
      turn.held.push(next)
    }
    turn.startedAt = this.#clock.currentTimeMillisUnsafe()
    if (turn.held.at(-1) === this.#fastLane) turn.host.inFlight.add(turn)
    return undefined
  }

  /** The next permit of a turn; undefined when the turn has all its permits. */
  #nextPermit({ callback, held, host }: DeliveryTurn): FifoSemaphore | undefined {
    const last = held.at(-1)
    if (last === undefined) return this.#permitsOf(host, callback.speed)
    if (last === this.#fastLane || last === this.#slowLane) return undefined
    if (last !== host.promptPermits && last !== host.unknownPermits) return this.#slowLane
    if (host.slowUntil <= this.#clock.currentTimeMillisUnsafe()) return this.#fastLane
    return host.slowPermits ??= new FifoSemaphore(Math.ceil(this.#maxSlow / 8))
  }

  #permitsOf(host: CallbackHost, speed: CallbackRecord["speed"]): FifoSemaphore {
    switch (speed) {
      case "prompt":
        return host.promptPermits ??= new FifoSemaphore(this.#options.maxPerHost)
      case "unknown":
        return host.unknownPermits ??= new FifoSemaphore(this.#options.maxPerHost)
      case "slow":
        return host.slowCallbackPermits ??= new FifoSemaphore(Math.ceil(this.#maxSlow / 8))
      case "hung":
        return host.hungCallbackPermits ??= new FifoSemaphore(Math.ceil(this.#maxSlow / 8))
    }
  }

  /** Marks host and callback before the permits go to the next delivery, whether this one succeeds, fails or is interrupted. */
  #end(hostname: string, turn: DeliveryTurn, exit: Exit.Exit<unknown, unknown>): void {
    const { host } = turn
    if (turn.startedAt !== undefined) this.#rate(turn, turn.startedAt, exit)
    host.inFlight.delete(turn)
    if (turn.isOverdue) {
      host.overdue--
      this.#overdue--
    }
    for (const permit of turn.held) permit.release()
    if (--host.deliveries > 0) return
    this.#busyHosts.delete(hostname)
    if (host.slowUntil > this.#clock.currentTimeMillisUnsafe()) this.#idleSlowHosts.set(hostname, host)
  }

  #rate({ callback, host }: DeliveryTurn, startedAt: number, exit: Exit.Exit<unknown, unknown>): void {
    const now = this.#clock.currentTimeMillisUnsafe()
    const tookMs = now - startedAt
    if (tookMs >= slowResponseMs) {
      callback.speed = Exit.isFailure(exit) ? "hung" : "slow"
      if (now - host.lastPromptAt >= promptForMs) host.slowUntil = now + slowForMs
      return
    }
    // The end of an interrupted delivery is no response.
    if (Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)) return
    callback.speed = "prompt"
    host.lastPromptAt = now
    host.slowUntil = 0
    host.usualMs = host.usualMs === undefined ? tookMs : host.usualMs + (tookMs - host.usualMs) * responseWeight
  }

  #findHost(hostname: string): CallbackHost {
    const busy = this.#busyHosts.get(hostname)
    if (busy !== undefined) return busy
    const host = this.#idleSlowHosts.get(hostname) ?? {
      deliveries: 0,
      overdue: 0,
      slowUntil: 0,
      lastPromptAt: -Infinity,
      usualMs: undefined,
      inFlight: new Set<DeliveryTurn>()
    }
    this.#idleSlowHosts.delete(hostname)
    this.#busyHosts.set(hostname, host)
    return host
  }

  /** Looks for overdue deliveries while other deliveries wait. An idle limiter has no fiber. */
  readonly #watch = Effect.suspend(() => {
    if (this.#isWatching) return Effect.void
    this.#isWatching = true
    return Effect.sleep(overdueCheckMs).pipe(
      Effect.andThen(Effect.sync(() => this.#isWatching = this.#releaseOverdue())),
      Effect.repeat({ while: (isWaiting) => isWaiting }),
      Effect.forkIn(this.#scope)
    )
  })

  /** Takes the permits of overdue deliveries while other deliveries wait. Returns false when no delivery of the fast lane waits. */
  #releaseOverdue(): boolean {
    const now = this.#clock.currentTimeMillisUnsafe()
    let isWaiting = this.#fastLane.waiting > 0
    for (const host of this.#busyHosts.values()) {
      const isCrowded = (host.promptPermits?.waiting ?? 0) + (host.unknownPermits?.waiting ?? 0) > 0
      isWaiting ||= isCrowded
      if (!isCrowded && this.#fastLane.waiting === 0) continue
      const latestStart = now - (isCrowded ? overdueAfterMs(host) : slowResponseMs)
      for (const turn of host.inFlight) {
        if ((turn.startedAt ?? now) > latestStart || !this.#hasRoomForOverdue(host)) break
        this.#continueOverdue(turn)
      }
    }
    return isWaiting
  }

  #hasRoomForOverdue(host: CallbackHost): boolean {
    return this.#overdue < this.#options.maxOverdue && host.overdue * 4 < this.#options.maxOverdue
  }

  #continueOverdue(turn: DeliveryTurn): void {
    turn.isOverdue = true
    turn.host.overdue++
    this.#overdue++
    turn.host.inFlight.delete(turn)
    for (const permit of turn.held.splice(0)) permit.release()
  }
}

const overdueAfterMs = ({ usualMs = firstUsualMs }: CallbackHost): number =>
  Math.min(Math.max(usualMs * overdueFactor, overdueBoundsMs.min), overdueBoundsMs.max)

/** Makes a limiter, which looks for overdue deliveries until the scope closes. */
export const make = Effect.fnUntraced(function*(options: DeliveryLimiterOptions) {
  return new DeliveryLimiter(options, yield* Clock.Clock, yield* Effect.scope)
})
