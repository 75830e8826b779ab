import { toSingleLine } from "#domain/ControlCharacters.ts"
import type { HubLinks } from "#domain/poll/HubLinks.ts"
import { siteOf } from "#domain/Topic.ts"
import { dayMs, minuteMs } from "#domain/Time.ts"

/**
 * Windhover as a subscriber at a publisher's hub. Times are epoch milliseconds.
 *
 *                   request                   hub verifies
 *   idle ──────────────────────► requested ────────────────► active ──┐
 *    ▲ ▲   no answer, refused      │                          │  ▲   │ renewed at half the lease
 *    │ └───────────────────────────┘       lease ends, denied │  └───┘
 *    ├────────────────────────────────────────────────────────┘
 *    └──────── unsubscribing ◄──── the resource has no subscribers
 *
 * Each change is a new value with the same `revision`. The store accepts a change only while the stored value has this revision.
 */
export interface HubSubscription {
  readonly resourceId: number
  readonly partition: number
  /** The advertised hubs; empty when the resource advertises none. */
  readonly hubs: ReadonlyArray<string>
  /** The hub of the current or last request. */
  readonly hub: string
  /** The name of the resource at the hub. */
  readonly topic: string
  readonly state: "idle" | "requested" | "active" | "unsubscribing"
  /** Random end of the callback's path. Each new subscription gets a new callback and a new secret. */
  readonly callback?: string
  readonly secret?: string
  readonly leaseUntil?: number
  /** Time of the next step; undefined for none. */
  readonly dueAt?: number
  /** Failed requests in a row. */
  readonly failures: number
  /** The hub pushes before polls find the entries, so polls can be rare. */
  readonly reliable: boolean
  /** Reason of the last failure, for operators. */
  readonly problem?: string
  readonly revision: number
}

/** Time for the verification after a hub has accepted a request, in ms. */
export const verificationTimeoutMs = 10 * minuteMs

/** Time for a push after a poll has found the news, in ms. A later push counts as missed. */
export const pushTimeoutMs = 5 * minuteMs

/** Requested lease: 10 days, after which hubs forget dead subscribers. */
export const requestedLeaseSeconds = 10 * 24 * 3_600

/** Bounds of a granted lease in seconds. Leases are renewed at half their length: every five seconds at most, once a month at least. */
const minHubLeaseSeconds = 10
const maxHubLeaseSeconds = 60 * 24 * 3_600

/** Pause after a denial, in ms. */
const denialPauseMs = 7 * dayMs

/** Waits after failed requests: 5, 10, 20 … minutes, up to a day. */
const retryDelayMs = (failures: number): number => Math.min(5 * minuteMs * 2 ** Math.min(failures - 1, 20), dayMs)

/** Longest wait for the next step in each state, in ms. */
const maxStepDelayMs: { readonly [state in HubSubscription["state"]]: number } = {
  idle: denialPauseMs,
  requested: verificationTimeoutMs,
  active: maxHubLeaseSeconds * 1000,
  unsubscribing: verificationTimeoutMs
}

/** Due time of the next step, epoch ms. A step beyond the longest wait is due at once, because a clock that was ahead planned the step. */
export const plannedStep = ({ dueAt = 0, state }: HubSubscription, now: number): number =>
  dueAt > now + maxStepDelayMs[state] ? now : dueAt

/** The subscription with the advertised links; undefined when the links are the known ones. */
export const withHubLinks = (
  known: HubSubscription | undefined,
  resource: { readonly id: number; readonly partition: number },
  { hubs, topic }: HubLinks
): HubSubscription | undefined => {
  const [first] = hubs
  if (known === undefined) {
    return first === undefined ? undefined : {
      resourceId: resource.id,
      partition: resource.partition,
      hubs,
      hub: first,
      topic,
      state: "idle",
      failures: 0,
      reliable: false,
      revision: 0
    }
  }
  if (topic === known.topic && hubs.join(" ") === known.hubs.join(" ")) return undefined
  if (first === undefined) return { ...known, hubs }
  // Pushes of the old subscription get 410 Gone.
  return topic === known.topic && hubs.includes(known.hub)
    ? { ...known, hubs }
    : { ...withoutSubscription(known), hubs, hub: first, topic, failures: 0 }
}

/** Drops the subscription, and keeps the hub and its links. */
const withoutSubscription = (
  { callback: _, dueAt: __, leaseUntil: ___, problem: ____, secret: _____, ...known }: HubSubscription
): HubSubscription => ({ ...known, state: "idle", reliable: false })

/** The next step. `Request` carries the state to store before the request. */
export type HubSubscriptionStep =
  | { readonly _tag: "Wait"; readonly until: number | undefined }
  | { readonly _tag: "Save"; readonly next: HubSubscription }
  | { readonly _tag: "Remove" }
  | { readonly _tag: "Request"; readonly mode: "subscribe" | "unsubscribe"; readonly next: HubSubscription }

/** Random callback and secret of a new subscription. */
export interface CallbackCredentials {
  readonly callback: string
  readonly secret: string
}

/** Decides the next step. `watched` is true for a resource with subscribers. */
export const nextStep = (
  known: HubSubscription,
  watched: boolean,
  fresh: CallbackCredentials,
  now: number
): HubSubscriptionStep =>
  watched && known.hubs.length > 0 ? stepWhileWatched(known, fresh, now) : stepWhileUnwatched(known, now)

const stepWhileWatched = (known: HubSubscription, fresh: CallbackCredentials, now: number): HubSubscriptionStep => {
  if (known.state === "active" && (known.leaseUntil ?? 0) <= now) {
    return { _tag: "Save", next: { ...withoutSubscription(known), dueAt: now } }
  }
  const dueAt = plannedStep(known, now)
  if (known.state !== "unsubscribing" && dueAt > now) return { _tag: "Wait", until: dueAt }
  if (known.state === "requested") {
    return { _tag: "Save", next: recordRefusal(known, "the hub has not verified in time", now) }
  }
  if (known.state !== "active") {
    return {
      _tag: "Request",
      mode: "subscribe",
      next: { ...known, ...fresh, state: "requested", dueAt: now + verificationTimeoutMs }
    }
  }
  const failures = known.failures + 1 // reset by the verification
  const again = Math.min(now + Math.max(retryDelayMs(failures), verificationTimeoutMs), known.leaseUntil ?? now)
  return { _tag: "Request", mode: "subscribe", next: { ...known, failures, dueAt: again } }
}

const stepWhileUnwatched = (known: HubSubscription, now: number): HubSubscriptionStep => {
  if (known.state === "requested" || known.state === "active") {
    return {
      _tag: "Request",
      mode: "unsubscribe",
      next: { ...known, state: "unsubscribing", reliable: false, dueAt: now + verificationTimeoutMs }
    }
  }
  if (known.state === "unsubscribing") {
    const dueAt = plannedStep(known, now)
    return dueAt > now ? { _tag: "Wait", until: dueAt } : { _tag: "Save", next: withoutSubscription(known) }
  }
  return known.hubs.length === 0 ? { _tag: "Remove" } : { _tag: "Wait", until: undefined }
}

/** Records a refusal or a failed request, and selects the next hub of the resource. A valid lease stays. */
export const recordRefusal = (known: HubSubscription, problem: string, now: number): HubSubscription => {
  if (known.state === "unsubscribing") return withoutSubscription(known)
  const failures = known.failures + 1
  const dueAt = now + retryDelayMs(failures)
  return known.state === "active"
    ? { ...known, failures, dueAt: Math.min(dueAt, known.leaseUntil ?? dueAt), problem }
    : { ...withoutSubscription(known), hub: nextHub(known), failures, dueAt, problem }
}

const nextHub = ({ hub, hubs }: HubSubscription): string => hubs[(hubs.indexOf(hub) + 1) % hubs.length] ?? hub

/** A request of a hub to the callback. */
export interface HubIntent {
  readonly mode: "subscribe" | "unsubscribe" | "denied"
  readonly topic: string
  /** Seconds; some hubs omit the lease. */
  readonly leaseSeconds?: number
  readonly reason?: string
}

/** The state after an accepted intent; undefined for an intent that Windhover rejects. */
export const applyIntent = (
  known: HubSubscription,
  { leaseSeconds, mode, reason, topic }: HubIntent,
  now: number
): HubSubscription | undefined => {
  if (topic !== known.topic) return undefined
  const subscribing = known.state === "requested" || known.state === "active"
  switch (mode) {
    case "subscribe": {
      if (!subscribing) return undefined
      // Hubs of PubSubHubbub 0.3 grant a lease without an end by 0.
      const granted = leaseSeconds === undefined || leaseSeconds === 0 ? requestedLeaseSeconds : leaseSeconds
      const lease = Math.min(Math.max(granted, minHubLeaseSeconds), maxHubLeaseSeconds) * 1000
      const { problem: _, ...calm } = known
      return { ...calm, state: "active", failures: 0, leaseUntil: now + lease, dueAt: now + lease / 2 }
    }
    case "unsubscribe":
      return known.state === "unsubscribing" ? withoutSubscription(known) : undefined
    case "denied": {
      if (known.state === "idle") return undefined
      const others = known.hubs.length > 1
      const problem = `the hub denies: ${reason ?? "no reason given"}`
      return {
        ...withoutSubscription(known),
        hub: nextHub(known),
        failures: known.failures + 1,
        dueAt: now + (others ? retryDelayMs(known.failures + 1) : denialPauseMs),
        problem: toSingleLine(problem).slice(0, 300)
      }
    }
  }
}

/** Whether the callback accepts pushes. */
export const acceptsPush = ({ secret, state }: HubSubscription): boolean =>
  secret !== undefined && (state === "active" || state === "requested")

/** The state after a push; undefined when the hub counts as reliable already. */
export const recordPush = (known: HubSubscription): HubSubscription | undefined =>
  known.reliable || known.state !== "active" ? undefined : { ...known, reliable: true }

/**
 * The state after a missed push; undefined for an unreliable hub.
 *
 * Polls become frequent until the next push. A reliable hub may have lost the subscription, so the next request follows at once.
 */
export const recordMissedPush = (known: HubSubscription, now: number): HubSubscription | undefined =>
  known.reliable ? { ...known, reliable: false, dueAt: now } : undefined

/** Pushes and misses of a hub, over all its resources. */
export interface HubCounts {
  readonly hub: string
  /** Pushed documents. */
  readonly pushed: number
  /** Entries or documents that polls found instead. */
  readonly missed: number
  /** Missed resources of a reliable hub since its last push. */
  readonly consecutiveMisses: number
}

/** The counts of a hub and of its resources, for operators. */
export interface HubReport extends HubCounts {
  /** Resources with a confirmed subscription. */
  readonly subscriptions: number
  /** Resources with rare polls, because the hub pushes reliably. */
  readonly reliable: number
}

/** After so many misses a hub counts as dead, and no resource relies on the hub until its next push. */
export const maxConsecutiveMisses = 3

/** Maximum of hosts in one log line. */
const maxNamedHubs = 10

/** Names hubs by their hosts in a log line, because an address may be long and hold a key. */
export const describeHubs = (hubs: Iterable<string>): string => {
  const hosts = [...new Set(Array.from(hubs, (hub) => new URL(hub).host))]
  const rest = hosts.length - maxNamedHubs
  return hosts.slice(0, maxNamedHubs).join(", ") + (rest > 0 ? ` and ${rest} more` : "")
}

/** The URL for verifications and pushes of the hub. */
export const hubCallbackUrl = (baseUrl: string, callback: string): string => `${baseUrl}/upstream/${callback}`

/**
 * Whether public hubs can probably reach the base URL. Names of the local machine or network and private addresses are unreachable.
 */
export const isReachable = (baseUrl: string): boolean => {
  const { hostname } = new URL(baseUrl)
  if (hostname.startsWith("[")) return /^\[[23][0-9a-f]{0,3}:/.test(hostname)
  if (/^\d+\.\d+\.\d+\.\d+$/.test(hostname)) return !privateAddress.test(hostname)
  return hostname.includes(".") && !localName.test(hostname) && siteOf(hostname).includes(".")
}

const privateAddress =
  /^(?:0|10|127)\.|^192\.168\.|^169\.254\.|^172\.(?:1[6-9]|2\d|3[01])\.|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|^(?:22[4-9]|2[3-5]\d)\./

const localName = /(?:^|\.)(?:localhost|local|localdomain|internal|intranet|lan|home|corp|test|example|invalid|arpa)$/
