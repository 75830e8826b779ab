import type { HubLinks } from "#domain/poll/HubLinks.ts"
import { siteOf } from "#domain/Topic.ts"

/**
 * Windhover as a subscriber at the hub of a resource's publisher. Times are epoch milliseconds.
 *
 *                     ask                     hub verifies
 *   idle ──────────────────────► asked ────────────────────► active ──┐
 *    ▲ ▲   no answer, refused      │                          │  ▲   │ ask again at half the lease
 *    │ └───────────────────────────┘       lease ends, denied │  └───┘
 *    ├────────────────────────────────────────────────────────┘
 *    └────────────── leaving ◄──── nobody watches the resource any more
 *
 * Each change is a new value with the same `revision`; the store lets it pass when the stored one has that revision still.
 */
export interface HubSubscription {
  readonly resourceId: number
  readonly partition: number
  /** As advertised; empty: none any more. */
  readonly hubs: ReadonlyArray<string>
  /** The one of them that is asked, or was last. */
  readonly hub: string
  /** What the hub knows the resource as. */
  readonly topic: string
  readonly state: "idle" | "asked" | "active" | "leaving"
  /** Ends the path of the callback; nobody can guess it. Like the secret it belongs to one subscription, and is renewed with the next one. */
  readonly callback?: string
  readonly secret?: string
  readonly leaseUntil?: number
  /** When to do what comes next; undefined: nothing. */
  readonly dueAt?: number
  /** Questions in a row that came to nothing. */
  readonly failures: number
  /** What the hub pushes has come before the polls, so that they can be rare. */
  readonly reliable: boolean
  /** Why the last question came to nothing, for a person. */
  readonly problem?: string
  readonly revision: number
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** A hub that has said 202 may take so long to verify. */
export const verificationTimeoutMs = 10 * minuteMs

/** A publisher pings its hub and the hub pushes within so long after a poll has found the news; if not, the push is missed. */
export const pushTimeoutMs = 5 * minuteMs

/** Seconds of the lease that is asked for: hubs remember their subscribers at least so long, and forget dead ones. */
export const requestedLeaseSeconds = 10 * 24 * 3_600

/** Seconds: leases are renewed at half their length, but not every second, and at least once a month. */
const minHubLeaseSeconds = 600
const maxHubLeaseSeconds = 60 * 24 * 3_600

/** A hub that has denied is asked again after so long. */
const denialPauseMs = 7 * dayMs

/** Waits after questions that came to nothing: 5, 10, 20 … minutes, up to a day. */
const retryDelayMs = (failures: number): number => Math.min(5 * minuteMs * 2 ** Math.min(failures - 1, 20), dayMs)

/** Milliseconds to the furthest step from each state. */
const maxStepDelayMs: { readonly [state in HubSubscription["state"]]: number } = {
  idle: denialPauseMs,
  asked: verificationTimeoutMs,
  active: maxHubLeaseSeconds * 1000,
  leaving: verificationTimeoutMs
}

/** When the next step is due, epoch ms: at once, when it is further away than any is. A clock that was ahead planned it, and has been set right since. */
export const plannedStep = ({ dueAt = 0, state }: HubSubscription, now: number): number =>
  dueAt > now + maxStepDelayMs[state] ? now : dueAt

/** What a resource is found to advertise, beside what was known; undefined when that is the same. */
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
  // the old subscription is forgotten: what it still pushes is answered that it is gone
  return topic === known.topic && hubs.includes(known.hub)
    ? { ...known, hubs }
    : { ...withoutSubscription(known), hubs, hub: first, topic, failures: 0 }
}

/** Without a subscription; what is known of the hub stays. */
const withoutSubscription = (
  { callback: _, dueAt: __, leaseUntil: ___, problem: ____, secret: _____, ...known }: HubSubscription
): HubSubscription => ({ ...known, state: "idle", reliable: false })

/** What is to be done now. `ask` comes with the state that has to be stored before the hub is asked. */
export type HubSubscriptionStep =
  | { readonly _tag: "Wait"; readonly until: number | undefined }
  | { readonly _tag: "Save"; readonly next: HubSubscription }
  | { readonly _tag: "Remove" }
  | { readonly _tag: "Ask"; readonly mode: "subscribe" | "unsubscribe"; readonly next: HubSubscription }

/** What a new subscription needs, at random. */
export interface CallbackCredentials {
  readonly callback: string
  readonly secret: string
}

/** `watched`: somebody is subscribed to the resource. */
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
  if (known.state !== "leaving" && dueAt > now) return { _tag: "Wait", until: dueAt }
  if (known.state === "asked") {
    return { _tag: "Save", next: recordRefusal(known, "the hub has not verified in time", now) }
  }
  if (known.state !== "active") {
    return {
      _tag: "Ask",
      mode: "subscribe",
      next: { ...known, ...fresh, state: "asked", dueAt: now + verificationTimeoutMs }
    }
  }
  const failures = known.failures + 1 // until it is verified
  const again = Math.min(now + Math.max(retryDelayMs(failures), verificationTimeoutMs), known.leaseUntil ?? now)
  return { _tag: "Ask", mode: "subscribe", next: { ...known, failures, dueAt: again } }
}

const stepWhileUnwatched = (known: HubSubscription, now: number): HubSubscriptionStep => {
  if (known.state === "asked" || known.state === "active") {
    return {
      _tag: "Ask",
      mode: "unsubscribe",
      next: { ...known, state: "leaving", reliable: false, dueAt: now + verificationTimeoutMs }
    }
  }
  if (known.state === "leaving") {
    const dueAt = plannedStep(known, now)
    return dueAt > now ? { _tag: "Wait", until: dueAt } : { _tag: "Save", next: withoutSubscription(known) }
  }
  return known.hubs.length === 0 ? { _tag: "Remove" } : { _tag: "Wait", until: undefined }
}

/** The hub has refused, or could not be asked; the next one of the resource is asked then. A lease that stands is kept. */
export const recordRefusal = (known: HubSubscription, problem: string, now: number): HubSubscription => {
  if (known.state === "leaving") return withoutSubscription(known)
  const failures = known.failures + 1
  const dueAt = now + retryDelayMs(failures)
  return known.state === "active"
    ? { ...known, failures, dueAt: Math.min(dueAt, known.leaseUntil ?? dueAt), problem }
    : { ...withoutSubscription(known), hub: nextHub(known), failures, dueAt, problem }
}

const nextHub = ({ hub, hubs }: HubSubscription): string => hubs[(hubs.indexOf(hub) + 1) % hubs.length] ?? hub

/** What a hub asks or tells the callback. */
export interface HubIntent {
  readonly mode: "subscribe" | "unsubscribe" | "denied"
  readonly topic: string
  /** Seconds; some hubs do not say. */
  readonly leaseSeconds?: number
  readonly reason?: string
}

/** What Windhover agrees to, by the state after it; undefined: it wants no such thing. */
export const applyIntent = (
  known: HubSubscription,
  { leaseSeconds, mode, reason, topic }: HubIntent,
  now: number
): HubSubscription | undefined => {
  if (topic !== known.topic) return undefined
  const subscribing = known.state === "asked" || known.state === "active"
  switch (mode) {
    case "subscribe": {
      if (!subscribing) return undefined
      const lease = Math.min(Math.max(leaseSeconds ?? requestedLeaseSeconds, minHubLeaseSeconds), maxHubLeaseSeconds) *
        1000
      const { problem: _, ...calm } = known
      return { ...calm, state: "active", failures: 0, leaseUntil: now + lease, dueAt: now + lease / 2 }
    }
    case "unsubscribe":
      return known.state === "leaving" ? withoutSubscription(known) : undefined
    case "denied": {
      if (known.state === "idle") return undefined
      const others = known.hubs.length > 1
      const problem = `the hub denies: ${reason ?? "no reason given"}`
      return {
        ...withoutSubscription(known),
        hub: nextHub(known),
        failures: known.failures + 1,
        dueAt: now + (others ? retryDelayMs(known.failures + 1) : denialPauseMs),
        problem: problem.slice(0, 300)
      }
    }
  }
}

/** Whether what comes to the callback is taken. */
export const acceptsPush = ({ secret, state }: HubSubscription): boolean =>
  secret !== undefined && (state === "active" || state === "asked")

/** It has pushed: undefined when that is what it is trusted to do. */
export const recordPush = (known: HubSubscription): HubSubscription | undefined =>
  known.reliable || known.state !== "active" ? undefined : { ...known, reliable: true }

/**
 * A poll has found what the hub has not pushed within the grace. Polls are frequent again, until it pushes; one that was trusted may have
 * lost its subscriber, and is asked again at once.
 */
export const recordMissedPush = (known: HubSubscription, now: number): HubSubscription | undefined =>
  known.reliable ? { ...known, reliable: false, dueAt: now } : undefined

/** How a hub does, over all its resources. */
export interface HubCounts {
  readonly hub: string
  /** Documents that it has pushed, and entries (or documents) that polls have found in place of them. */
  readonly pushed: number
  readonly missed: number
  /** Resources that it was trusted with and missed, since it pushed last. */
  readonly consecutiveMisses: number
}

/** A hub as an operator sees it: how it does, and for how many resources. */
export interface HubReport extends HubCounts {
  /** Resources that it has confirmed to push, and those of them that are polled rarely because it does. */
  readonly subscriptions: number
  readonly reliable: number
}

/** So many strikes, and a hub counts as dead: none of its resources relies on it until it pushes again. */
export const maxConsecutiveMisses = 3

/** Hosts that are named in one line, at most. */
const maxNamedHubs = 10

/** Hubs as a log names them: by their hosts, for an address may be long and hold a key, and not all of them. */
export const describeHubs = (hubs: Iterable<string>): string => {
  const hosts = [...new Set(Array.from(hubs, (hub) => new URL(hub).host))]
  const rest = hosts.length - maxNamedHubs
  return hosts.slice(0, maxNamedHubs).join(", ") + (rest > 0 ? ` and ${rest} more` : "")
}

/** Where the hub of a subscription asks and posts. */
export const hubCallbackUrl = (baseUrl: string, callback: string): string => `${baseUrl}/upstream/${callback}`

/**
 * Whether hubs elsewhere can reach the service, by the look of its base URL: not under a name of this machine or network, nor at a
 * private address.
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
