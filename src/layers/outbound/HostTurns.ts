import { maxFetchBurst, maxFetchesPerHost } from "#domain/limits/HostPoliteness.ts"
import { networksOf } from "#domain/limits/IpNetwork.ts"
import { RateLimiter } from "#domain/limits/RateLimiter.ts"
import type { TimerWheel } from "#layers/TimerWheel.ts"
import type { DnsResolver } from "./DnsResolver.ts"

/** Maximum of hosts whose spacing is remembered. */
const maxHosts = 100_000

/** Maximum of exchanges that wait for one name or address. */
const maxWaiting = 64

export interface HostTurnsOptions {
  readonly resolver: DnsResolver
  readonly timers: TimerWheel
  /** Time between the starts of two exchanges with one host after the burst, in ms. */
  readonly spacingMs: number
  readonly now?: () => number
}

/** The turn of one exchange: it starts once, and then leaves once. A turn that waits may leave as well. */
export interface HostTurn {
  readonly leave: () => void
}

export interface HostTurnHandler {
  readonly onStart: () => void
  /** Too many exchanges wait for the host. */
  readonly onFull: () => void
}

interface Waiter {
  readonly keys: ReadonlyArray<string>
  readonly handler: HostTurnHandler
  state: "waiting" | "running" | "over"
}

interface BusyHost {
  running: number
  readonly waiting: Set<Waiter>
}

/**
 * Turns of the exchanges that strangers cause, in this process: by the host that is asked, and by the address that its name resolves to.
 *
 * The topics of a stranger may redirect to one host, and any number of names may have one address. Together they get what one host gets.
 */
export class HostTurns {
  readonly #options: HostTurnsOptions
  readonly #now: () => number
  readonly #hosts = new Map<string, BusyHost>()
  readonly #rate: RateLimiter

  constructor(options: HostTurnsOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    const perMinute = 60_000 / Math.max(options.spacingMs, 0.001)
    this.#rate = new RateLimiter({ burst: maxFetchBurst, perMinute }, { maxKeys: maxHosts, maxDebtMs: 0 })
  }

  /** Calls `onStart` as soon as the host and its address have room. */
  enter(hostname: string, handler: HostTurnHandler): HostTurn {
    let waiter: Waiter | undefined
    let isOver = false
    const literal = networksOf(hostname)
    const enter = (address: string | undefined) => {
      if (isOver) return
      waiter = { keys: keysOf(hostname, address), handler, state: "waiting" }
      this.#tryStart(waiter)
    }
    if (literal === undefined) {
      // The exchange itself reports a name that cannot be resolved.
      this.#options.resolver.resolve(hostname).then(([first]) => enter(first?.address), () => enter(undefined))
    } else {
      enter(literal.host)
    }
    return {
      leave: () => {
        isOver = true
        if (waiter !== undefined) this.#leave(waiter)
      }
    }
  }

  /** Starts an exchange, or lets it wait for the first of its keys without room. */
  #tryStart(waiter: Waiter): void {
    if (waiter.state !== "waiting") return
    const { handler, keys } = waiter
    const full = keys.find((key) => (this.#hosts.get(key)?.running ?? 0) >= maxFetchesPerHost)
    if (full !== undefined) return this.#wait(full, waiter)
    const now = this.#now()
    const waitMs = Math.max(...keys.map((key) => this.#rate.waitMs(key, now)))
    if (waitMs > 0) return this.#wait(keys[0] ?? "", waiter, waitMs)
    waiter.state = "running"
    for (const key of keys) {
      this.#rate.use(key, now)
      this.#hostOf(key).running++
    }
    handler.onStart()
  }

  #wait(key: string, waiter: Waiter, waitMs?: number): void {
    const host = this.#hostOf(key)
    if (host.waiting.size >= maxWaiting) {
      waiter.state = "over"
      return waiter.handler.onFull()
    }
    host.waiting.add(waiter)
    if (waitMs === undefined) return
    this.#options.timers.add(waitMs, () => {
      if (!host.waiting.delete(waiter)) return
      this.#tryStart(waiter)
      this.#forget(key, host)
    })
  }

  #leave(waiter: Waiter): void {
    const { keys, state } = waiter
    if (state === "over") return
    waiter.state = "over"
    for (const key of keys) {
      const host = this.#hosts.get(key)
      if (host === undefined) continue
      if (state === "running") host.running--
      host.waiting.delete(waiter)
    }
    if (state === "running") { for (const key of keys) this.#startWaiting(key) }
    for (const key of keys) {
      const host = this.#hosts.get(key)
      if (host !== undefined) this.#forget(key, host)
    }
  }

  #startWaiting(key: string): void {
    const host = this.#hosts.get(key)
    if (host === undefined) return
    // A copy, because an exchange that has to wait for its spacing is added again.
    const waiting = [...host.waiting]
    for (const waiter of waiting) {
      if (host.running >= maxFetchesPerHost) return
      if (host.waiting.delete(waiter)) this.#tryStart(waiter)
    }
  }

  #hostOf(key: string): BusyHost {
    const known = this.#hosts.get(key)
    if (known !== undefined) return known
    const host = { running: 0, waiting: new Set<Waiter>() }
    this.#hosts.set(key, host)
    return host
  }

  #forget(key: string, host: BusyHost): void {
    if (host.running === 0 && host.waiting.size === 0) this.#hosts.delete(key)
  }
}

const keysOf = (hostname: string, address: string | undefined): ReadonlyArray<string> => {
  const host = address === undefined ? undefined : networksOf(address)?.host
  return host === undefined || host === hostname ? [hostname] : [hostname, host]
}
