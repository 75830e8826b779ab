import { maxFetchBurst, maxFetchesPerHost } from "#domain/limits/HostPoliteness.ts"
import { networksOf } from "#domain/limits/IpNetwork.ts"
import { RateLimiter } from "#domain/limits/RateLimiter.ts"
import type { TimerWheel } from "#layers/TimerWheel.ts"
import type { DnsResolver } from "./DnsResolver.ts"

/** Maximum of hosts whose spacing is remembered. */
const maxHosts = 100_000

/** Maximum of exchanges that wait for one name or address: of strangers, and of accounts. */
const maxWaiting = { strangers: 64, accounts: 512 }

/** Hosts of accounts that may share an address at full speed, as at a hosting company. */
const hostsPerAddress = 8

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
  readonly party: Party
  readonly keys: ReadonlyArray<string>
  readonly handler: HostTurnHandler
  state: "waiting" | "running" | "over"
}

type Party = "strangers" | "accounts"

interface BusyHost {
  /** Exchanges in flight: of accounts, and of both parties. */
  ofAccounts: number
  running: number
  readonly waiting: { readonly [party in Party]: Set<Waiter> }
}

/**
 * Turns of the exchanges that strangers cause, and of redirects of accounts, in this process: by the host that is asked, and by the address
 * that its name resolves to.
 *
 * The topics of a stranger may redirect to one host, and any number of names may have one address. Together they get what one host gets.
 * Accounts go first: their exchanges count for strangers, but not the other way round.
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
  enter(hostname: string, party: Party, handler: HostTurnHandler): HostTurn {
    let waiter: Waiter | undefined
    let isOver = false
    const literal = networksOf(hostname)
    const enter = (address: string | undefined) => {
      if (isOver) return
      waiter = { party, keys: keysOf(hostname, address), handler, state: "waiting" }
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
    const { handler, keys, party } = waiter
    const full = keys.findIndex((key, level) => this.#isFull(key, level, party))
    if (full >= 0) return this.#wait(keys[full] ?? "", waiter)
    const now = this.#now()
    const waitMs = Math.max(...keys.map((key, level) => this.#spacingWaitMs(key, level, party, now)))
    if (waitMs > 0) return this.#wait(keys[0] ?? "", waiter, waitMs)
    waiter.state = "running"
    keys.forEach((key, level) => {
      this.#rate.use(key, now)
      if (party === "accounts") this.#rate.use(accountsKey(key), now, 1 / hostsAt(level))
      this.#count(key, party, 1)
    })
    handler.onStart()
  }

  #isFull(key: string, level: number, party: Party): boolean {
    const { ofAccounts, running } = this.#hosts.get(key) ?? idle
    return party === "accounts" ? ofAccounts >= maxFetchesPerHost * hostsAt(level) : running >= maxFetchesPerHost
  }

  #spacingWaitMs(key: string, level: number, party: Party, now: number): number {
    return party === "accounts"
      ? this.#rate.waitMs(accountsKey(key), now, 1 / hostsAt(level))
      : this.#rate.waitMs(key, now)
  }

  #count(key: string, party: Party, change: 1 | -1): void {
    const host = this.#hostOf(key)
    host.running += change
    if (party === "accounts") host.ofAccounts += change
  }

  #wait(key: string, waiter: Waiter, waitMs?: number): void {
    const { party } = waiter
    const host = this.#hostOf(key)
    const waiting = host.waiting[party]
    if (waiting.size >= maxWaiting[party]) {
      waiter.state = "over"
      return waiter.handler.onFull()
    }
    waiting.add(waiter)
    if (waitMs === undefined) return
    this.#options.timers.add(waitMs, () => {
      if (!waiting.delete(waiter)) return
      this.#tryStart(waiter)
      this.#forget(key, host)
    })
  }

  #leave(waiter: Waiter): void {
    const { keys, party, state } = waiter
    if (state === "over") return
    waiter.state = "over"
    for (const key of keys) {
      if (state === "running") this.#count(key, party, -1)
      this.#hosts.get(key)?.waiting[party].delete(waiter)
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
    const { accounts, strangers } = host.waiting
    // A copy, because an exchange that has to wait for its spacing is added again.
    for (const waiter of [...accounts, ...strangers]) {
      if (host.ofAccounts >= maxFetchesPerHost * hostsPerAddress) return
      if (waiter.party === "strangers" && host.running >= maxFetchesPerHost) return
      if (host.waiting[waiter.party].delete(waiter)) this.#tryStart(waiter)
    }
  }

  #hostOf(key: string): BusyHost {
    const known = this.#hosts.get(key)
    if (known !== undefined) return known
    const host = { ofAccounts: 0, running: 0, waiting: { accounts: new Set<Waiter>(), strangers: new Set<Waiter>() } }
    this.#hosts.set(key, host)
    return host
  }

  #forget(key: string, host: BusyHost): void {
    const { running, waiting: { accounts, strangers } } = host
    if (running === 0 && accounts.size === 0 && strangers.size === 0) this.#hosts.delete(key)
  }
}

const idle = { ofAccounts: 0, running: 0 }

/** Hosts whose exchanges a key of this level allows to accounts: the name is level 0, its address is level 1. */
const hostsAt = (level: number): number => level === 0 ? 1 : hostsPerAddress

/** The key of the spacing of accounts, which strangers' exchanges do not use up. */
const accountsKey = (key: string): string => `accounts ${key}`

const keysOf = (hostname: string, address: string | undefined): ReadonlyArray<string> => {
  const host = address === undefined ? undefined : networksOf(address)?.host
  return host === undefined || host === hostname ? [hostname] : [hostname, host]
}
