import { Effect } from "effect"
import { strangersKey } from "#actors/limits/HostThrottle.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"
import { postponePoll } from "#domain/poll/PollFailure.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import type { PartitionContext, State } from "./Resource.ts"
import { completeWaiting } from "./ResourceMailbox.ts"
import { type PollServices, writeSchedule } from "./ResourcePoll.ts"

/** Wait of a resource that only strangers watch while the disk has no room, in ms. */
const fullDiskWaitMs = 60_000

/** The next try of a resource that may not be fetched now, epoch ms. */
interface Pause {
  readonly until: number
  /** For the status; undefined for the pause of a host. */
  readonly reason?: string
}

/** The pause of a resource: of its host, and, where only strangers watch, of the disk and of the ledger. */
export const findPause = (
  services: PollServices,
  resource: ResourceState,
  now: number,
  { hostThrottle }: PartitionContext
): Pause | undefined => {
  const { host, id, strangersOnly } = resource
  const until = hostThrottle.postponeIfPaused(host, id, now)
  if (until !== undefined) return { until }
  return strangersOnly === true
    ? findPauseOfStrangers(services, resource, now, hostThrottle.postponeIfPaused(strangersKey(host), id, now))
    : undefined
}

const findPauseOfStrangers = (
  { diskRoom, ledger }: PollServices,
  resource: ResourceState,
  now: number,
  hostPausedUntil: number | undefined
): Pause | undefined => {
  if (hostPausedUntil !== undefined) return { until: hostPausedUntil }
  if (!diskRoom.forStrangers()) return { until: now + fullDiskWaitMs, reason: fullDisk }
  const pause = ledger.findPause(resource, now)
  return pause === undefined ? undefined : { until: now + Math.ceil(pause.waitMs), reason: pause.reason }
}

const fullDisk =
  "the topics of the open hub have filled their share of the disk; polls go on when old content is deleted"

/**
 * Postpones a paused poll.
 *
 * The row gets the new time as well, because the next owner of the partition may not know the pause. Subscribers that wait for a first
 * document read the reason in the status of the resource.
 */
export const postpone = Effect.fnUntraced(
  function*(services: PollServices, state: State, { reason, until }: Pause, { awaitLease }: PartitionContext) {
    const { resource } = state
    const nextFetch = Math.max(resource.nextFetch, until)
    const change = postponePoll(resource, resource.lastFetch === undefined ? until : nextFetch, reason)
    if (change !== undefined) {
      yield* whenAvailable(Effect.andThen(awaitLease, services.store.record(change)))
      state.resource = change.state
    } else {
      state.resource = { ...resource, nextFetch }
      if (resource.lastFetch !== undefined) yield* writeSchedule(services, state.resource)
    }
    if (resource.lastFetch === undefined) completeWaiting(state)
  }
)
