import { addRequest, nextAllowedAt, type SlidingWindow } from "./SlidingWindow.ts"

/** A waiting request, with the keys that its limits count. */
export interface Claimant {
  /** Rises with each new request. */
  readonly id: number
  /** Network of the client that caused the request, or its account. */
  readonly network: string
  /** Quota of the host that is asked: its registrable domain, or its network for an address. */
  readonly site: string
  /** Network that the host's name resolves to; equal to `site` for an address. */
  readonly target: string
}

/** Bounds of one allocation. */
export interface TurnLimits {
  /** Maximum of requests that are allowed now. */
  readonly limit: number
  /** Maximum per site and minute; undefined for no rate limit. */
  readonly perMinute: number | undefined
  readonly maxPerNetwork: number
  readonly maxPerTarget: number
  readonly ends: QueueEnds
}

/** Requests in flight by key. */
export interface InFlight {
  readonly networks: ReadonlyMap<string, number>
  readonly targets: ReadonlyMap<string, number>
}

/** Due requests: allowed now, or deferred until a limit allows the next request. */
export interface Allocation<A> {
  readonly allowed: ReadonlyArray<A>
  readonly deferred: ReadonlyArray<{ readonly request: A; readonly dueAt: number }>
  /** New windows of the keys with allowed requests. */
  readonly windows: ReadonlyMap<string, SlidingWindow>
}

/** Oldest requests of a network that keep their order. Behind them, each second turn goes to the newest request. */
export const maxOrderedTurns = 20

/** The order of the requests of one network: by age, or from both ends of a long queue. */
export type QueueEnds = "oldest" | "both"

/** Requests per minute to one resolved network, as a multiple of the requests to one site: many sites share an address. */
const sitesPerTarget = 12

/** Delay of a request whose target has its maximum in flight, in ms. */
const busyDelayMs = 2_000

/** Key of the window of a resolved network. */
const targetKey = (target: string): string => `target ${target}`

/** The keys whose windows `allocate` reads. */
export const windowKeys = ({ site, target }: Pick<Claimant, "site" | "target">): ReadonlyArray<string> =>
  target === site ? [site] : [site, targetKey(target)]

/**
 * Sorts due requests into turns: the network with the fewest requests in flight comes first. `due` is sorted by due time.
 *
 * A long queue of one network is served from both ends. A flood so delays a later request of the same network by seconds only.
 */
export const fairTurns = <A extends Claimant>(
  due: ReadonlyArray<A>,
  inFlight: ReadonlyMap<string, number>,
  ends: QueueEnds,
  startsWithNewest = false
): ReadonlyArray<A> =>
  [...Map.groupBy(due, ({ network }) => network)].flatMap(([network, requests]) => {
    const ordered = ends === "oldest"
      ? requests
      : fromBothEnds(requests, startsWithNewest)
    const before = inFlight.get(network) ?? 0
    return ordered.map((request, i) => ({ request, turn: before + i }))
  }).toSorted((a, b) => a.turn - b.turn).map(({ request }) => request)

const fromBothEnds = <A extends Claimant>(requests: ReadonlyArray<A>, startsWithNewest: boolean): ReadonlyArray<A> => {
  const oldest = requests.slice(0, maxOrderedTurns)
  const newest = requests.slice(maxOrderedTurns).toSorted((a, b) => b.id - a.id)
  return startsWithNewest ? interleave(newest, oldest) : interleave(oldest, newest)
}

const interleave = <A>(first: ReadonlyArray<A>, second: ReadonlyArray<A>): ReadonlyArray<A> =>
  Array.from({ length: Math.max(first.length, second.length) }, (_, i) => [
    ...first.slice(i, i + 1),
    ...second.slice(i, i + 1)
  ]).flat()

/**
 * Allows requests in fair turns, within all limits. Requests after the limit, and of a network with its maximum in flight, stay due.
 *
 * A free slot of a network goes to its oldest or its newest request by chance (the last bit of the time), so that both proceed.
 */
export const allocate = <A extends Claimant>(
  due: ReadonlyArray<A>,
  windowOf: (key: string) => SlidingWindow,
  inFlight: InFlight,
  now: number,
  limits: TurnLimits
): Allocation<A> => {
  const networks = new Map(inFlight.networks)
  const targets = new Map(inFlight.targets)
  const windows = new Map<string, SlidingWindow>()
  const allowed: Array<A> = []
  const deferred: Array<{ readonly request: A; readonly dueAt: number }> = []
  for (const request of fairTurns(due, inFlight.networks, limits.ends, now % 2 === 1)) {
    if (allowed.length === limits.limit) break
    const { network, target } = request
    if ((networks.get(network) ?? 0) >= limits.maxPerNetwork) continue
    const isBusy = (targets.get(target) ?? 0) >= limits.maxPerTarget
    const allowedAt = pacedAt(request, (key) => windows.get(key) ?? windowOf(key), now, limits.perMinute)
    const dueAt = isBusy ? Math.max(allowedAt, now + busyDelayMs) : allowedAt
    if (dueAt > now) {
      deferred.push({ request, dueAt })
      continue
    }
    allowed.push(request)
    networks.set(network, (networks.get(network) ?? 0) + 1)
    targets.set(target, (targets.get(target) ?? 0) + 1)
    if (limits.perMinute !== undefined) {
      for (const [key, perMinute] of ratesOf(request, limits.perMinute)) {
        windows.set(key, addRequest(windows.get(key) ?? windowOf(key), now, perMinute))
      }
    }
  }
  return { allowed, deferred, windows }
}

/** The rates that a request counts against. */
export const ratesOf = (
  request: Pick<Claimant, "site" | "target">,
  perMinute: number
): ReadonlyArray<readonly [key: string, perMinute: number]> =>
  windowKeys(request).map((key, i) => [key, i === 0 ? perMinute : perMinute * sitesPerTarget] as const)

/** The earliest time that all rates of a request allow. */
export const pacedAt = (
  request: Pick<Claimant, "site" | "target">,
  windowOf: (key: string) => SlidingWindow,
  now: number,
  perMinute: number | undefined
): number =>
  perMinute === undefined
    ? now
    : Math.max(...ratesOf(request, perMinute).map(([key, rate]) => nextAllowedAt(windowOf(key), now, rate)))
