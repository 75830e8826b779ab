import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { maxFetchBurst, maxFetchesPerHost } from "#domain/limits/HostPoliteness.ts"

/** Maximum wait for the spacing, in ms. Fetches beyond that wait in the queue only. */
const maxSpacingWaitMs = 300_000

/** Time between two probes of a paused host, in ms. */
const probeSpacingMs = 60_000

/** Retention of a postponed resource after the pause, in ms. */
const postponedForMs = 3_600_000

/** Longest pause of a host, in ms. */
const maxPauseMs = 3_600_000

/** Longest pause of a host after refusals of one resource alone, in ms. */
const maxLonePauseMs = 60_000

/** Time for which the refusals of one resource alone cause no second pause of the host, in ms. */
const lonePauseSpacingMs = 3_600_000

/** Maximum of remembered refused resources. */
const maxRefused = 10_000

/** Alarm of a queued resource, in ms: a call from the queue may be lost. */
const queueCheckMs = 60_000

/**
 * The key of a host for the pauses that only strangers have caused: a stranger can make one path refuse all fetches.
 * These pauses postpone the resources of strangers alone.
 */
export const strangersKey = (hostname: string): string => `strangers ${hostname}`

/** Number of hosts above which idle hosts are forgotten. Forgetting a host after each fetch would cost more than the rest of this class. */
const minHosts = 32

/** Times are epoch ms. */
interface FetchedHost {
  running: number
  /** Resources that wait for a fetch to end, in order. */
  queue: Set<number>
  /** Resources whose spacing is settled: a start time is reserved, or the resource is in the queue. */
  reserved: Set<number>
  /** The next start time to reserve. */
  nextStartAt: number
  /** The last refused resource; undefined before the first refusal. */
  refusal: { readonly id: number; readonly until: number; readonly pausedAt: number } | undefined
  /** The pause that the server asked for; 0 without one. */
  pausedSince: number
  pausedUntil: number
  /** One resource alone has caused the pause. */
  isLonePause: boolean
  /** Resources that a pause has postponed and that were not fetched since. */
  postponed: Map<number, Postponement>
  /** The time of the next free probe. */
  nextProbeAt: number
}

interface Postponement {
  readonly at: number
  /** True for a probe: a later pause does not postpone this fetch again. */
  readonly isProbe: boolean
}

/**
 * Limits and spaces the fetches of each host, within one partition.
 *
 * Waiting takes no fiber: a waiting resource is idle until `leave` calls it or its time has come. A call may be lost with a stopped actor,
 * so that each waiting resource has an alarm too. Times are epoch ms.
 */
export class HostThrottle {
  readonly #hosts = new Map<string, FetchedHost>()
  /** Refused resources, and the times for which their servers asked. */
  readonly #refusedUntil = new BoundedMap<number, number>(maxRefused)
  #maxHosts = minHosts
  readonly #spacingMs: number

  /** `spacingMs`: time between the starts of two fetches from one host after the burst. */
  constructor(spacingMs: number) {
    this.#spacingMs = spacingMs
  }

  /** Number of known hosts: all busy, awaited or paused hosts, and as many idle hosts again, but at least 32. */
  get size(): number {
    return this.#hosts.size
  }

  /** Starts a fetch of `id` and returns 0, or returns the time of its next try. */
  enter(hostname: string, id: number, now: number): number {
    const host = this.#findHost(hostname, now)
    const startAt = host.reserved.has(id) ? now : this.#reserve(host, id, now)
    if (startAt > now) return startAt
    if (host.running >= maxFetchesPerHost) {
      host.reserved = addId(host.reserved, id)
      host.queue = addId(host.queue, id)
      return now + queueCheckMs
    }
    host.reserved.delete(id)
    host.queue.delete(id)
    host.postponed.delete(id)
    host.running++
    return 0
  }

  /** Ends a fetch, and returns the queued resources that may start now. */
  leave(hostname: string, now: number): ReadonlyArray<number> {
    const host = this.#findHost(hostname, now)
    host.running--
    if (host.queue.size === 0) return noIds
    const ids: Array<number> = []
    for (const id of host.queue) {
      if (ids.length >= maxFetchesPerHost - host.running) break
      host.queue.delete(id)
      ids.push(id)
    }
    return ids
  }

  /**
   * Delays a refused resource until the time that the server asked for, and pauses its host. Returns the end of the host's pause; `since`
   * for none.
   *
   * Two refused resources pause their host until the earlier of their times. One resource alone, which may be refused for ever although the
   * host serves all others, pauses the host for a minute at most, once an hour.
   */
  refuse(hostname: string, id: number, since: number, until: number): number {
    this.#refusedUntil.set(id, until)
    const host = this.#findHost(hostname, since)
    const before = host.refusal
    const isRepeated = before?.id === id && before.pausedAt + lonePauseSpacingMs > since
    host.refusal = { id, until, pausedAt: isRepeated ? before.pausedAt : since }
    if (isRepeated) return since
    const agreed = before === undefined || before.id === id ? since : Math.min(before.until, since + maxPauseMs)
    const pausedUntil = Math.min(until, Math.max(agreed, since + maxLonePauseMs))
    this.pause(hostname, since, pausedUntil)
    host.isLonePause = agreed <= since
    return pausedUntil
  }

  /** Pauses the fetches from a host. */
  pause(hostname: string, since: number, until: number): void {
    if (until <= since) return
    const host = this.#findHost(hostname, since)
    if (host.pausedUntil + postponedForMs <= since) host.postponed = noPostponements
    if (host.pausedUntil <= since) host.pausedSince = since
    host.pausedUntil = Math.max(host.pausedUntil, until)
    host.isLonePause = false
  }

  /**
   * Postpones `id`, due now, while its server or its host is to be left alone. Returns the time of its next try; undefined when the fetch may start now.
   *
   * A pause postpones due resources by its own length, so that not all fetches come at its end. One resource may cause pauses for ever
   * although the host would serve the other resources. Therefore a resource that has waited for the end of one pause probes the host in the next pause, one
   * resource a minute.
   */
  postponeIfPaused(hostname: string, id: number, now: number): number | undefined {
    const refusedUntil = this.#refusedUntil.size === 0 ? undefined : this.#refusedUntil.get(id)
    if (refusedUntil !== undefined && refusedUntil > now) return refusedUntil
    const host = this.#hosts.get(hostname)
    if (host === undefined || host.pausedUntil <= now) return undefined
    const afterPause = host.pausedUntil + now - host.pausedSince
    const postponed = host.postponed.get(id)
    // No resource that waited for this short pause probes the host in a next, long pause.
    if (host.isLonePause) return Math.max(afterPause, postponed?.at ?? 0)
    if (postponed === undefined) return postpone(host, id, { at: afterPause, isProbe: false })
    if (postponed.at > now) return postponed.at
    if (postponed.isProbe) return undefined
    const probeAt = Math.max(host.nextProbeAt, now)
    if (probeAt >= afterPause) return postpone(host, id, { at: afterPause, isProbe: false })
    host.nextProbeAt = probeAt + probeSpacingMs
    return probeAt === now ? undefined : postpone(host, id, { at: probeAt, isProbe: true })
  }

  /** The spaced start time of `id`. A time in the future is reserved. */
  #reserve(host: FetchedHost, id: number, now: number): number {
    if (host.nextStartAt < now) {
      host.nextStartAt = now
      host.reserved.clear() // resources that missed their time reserve again
    }
    const startAt = host.nextStartAt - (maxFetchBurst - 1) * this.#spacingMs
    if (startAt < now + maxSpacingWaitMs) host.nextStartAt += this.#spacingMs
    if (startAt > now) host.reserved = addId(host.reserved, id)
    return startAt
  }

  #findHost(hostname: string, now: number): FetchedHost {
    let host = this.#hosts.get(hostname)
    if (host === undefined) {
      if (this.#hosts.size >= this.#maxHosts) this.#forgetHosts(now)
      host = {
        running: 0,
        queue: emptySet,
        reserved: emptySet,
        nextStartAt: 0,
        refusal: undefined,
        pausedSince: 0,
        pausedUntil: 0,
        isLonePause: false,
        postponed: noPostponements,
        nextProbeAt: 0
      }
      this.#hosts.set(hostname, host)
    }
    return host
  }

  /** Visits all hosts, which is rare: the limit doubles with the number of the remaining ones. */
  #forgetHosts(now: number): void {
    for (const [hostname, host] of this.#hosts) {
      if (!isNeeded(host, now)) this.#hosts.delete(hostname)
    }
    this.#maxHosts = Math.max(minHosts, 2 * this.#hosts.size)
  }
}

const isNeeded = (
  { nextStartAt, pausedUntil, postponed, queue, refusal, running }: FetchedHost,
  now: number
): boolean =>
  running > 0 || queue.size > 0 || nextStartAt > now || pausedUntil + (postponed.size > 0 ? postponedForMs : 0) > now ||
  refusal !== undefined && Math.max(refusal.until, refusal.pausedAt + lonePauseSpacingMs) > now

const postpone = (host: FetchedHost, id: number, postponement: Postponement): number => {
  if (host.postponed === noPostponements) host.postponed = new Map()
  host.postponed.set(id, postponement)
  return postponement.at
}

/** Shared by nearly all hosts, and never changed: a map or set is made for the first waiting resource. */
const noPostponements: FetchedHost["postponed"] = new Map()
const emptySet: Set<number> = new Set()
const noIds: ReadonlyArray<number> = []

const addId = (ids: Set<number>, id: number): Set<number> => (ids === emptySet ? new Set<number>() : ids).add(id)
