import { toSingleLine } from "#domain/ControlCharacters.ts"
import type { ReaderError } from "#domain/ports/FeedReader.ts"
import type { Fetched, FetchError } from "#domain/ports/Fetcher.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import type { SelectorError } from "#domain/ports/Selector.ts"
import { recordFailure } from "./Health.ts"
import { nextFetch } from "./PollingInterval.ts"
import { periodAfter } from "./PollSchedule.ts"
import { isSuccess, type PollContext, type PollResult, silentWrite, stateAfter, withState } from "./PollStep.ts"
import type { ResourceState } from "./Resource.ts"
import { retryTime } from "./RetryAfter.ts"
import { describeStandIn, standInStatuses } from "./RobotCheck.ts"
import { describeFetch, describePause, isSameFailure } from "./Status.ts"
import { dayMs, hourMs } from "#domain/Time.ts"

/** After so many ms of unreadable answers, a former feed is taken for its new kind. */
const maxUnreadableMs = 3 * dayMs

/** Whether the server has sent unreadable answers for less than three days. */
export const isRecentlyUnreadable = ({ serverProfile }: ResourceState, now: number): boolean =>
  now - (serverProfile?.unreadableSince ?? now) < maxUnreadableMs

/** A failed poll. `code` is the status, or 0 without an answer; `reason` is for the status of the resource. */
export const failPoll = (
  state: ResourceState,
  code: number,
  reason: string | undefined,
  context: PollContext,
  notBefore?: number
): PollResult => {
  const text = reason === undefined ? undefined : toSingleLine(reason)
  const { announced, health, isTolerated } = recordFailure(state, state.lastParse !== undefined)
  const { serverProfile } = state
  const { jitter, minPeriod, now, trigger } = context
  const hasAnswer = isSuccess(code) && !standInStatuses.has(code)
  const period = isTolerated ? state.period : periodAfter(state, hasAnswer ? "unreadable" : "failed", context, 0)
  const log = describeFetch(trigger, code, period)
  const next: ResourceState = {
    ...state,
    code,
    period,
    lastFetch: now,
    nextFetch: nextFetch(now, isTolerated ? Math.min(period, minPeriod) : period, jitter, notBefore),
    ...health,
    ...(hasAnswer
      ? { serverProfile: { ...serverProfile, unreadableSince: serverProfile?.unreadableSince ?? now } }
      : {}),
    http: text === undefined ? log : `${log}: ${text}`
  }
  if (announced) return { _tag: "Changed", change: { ...silentWrite(next), announce: { _tag: "Failure" } } }
  // A repeated failure needs no write.
  return state.code === code && isSameFailure(state.http, text)
    ? { _tag: "Unchanged", state: next }
    : { _tag: "Changed", change: silentWrite(next) }
}

/** A fetch without an answer. */
export const failFetch = (state: ResourceState, error: FetchError, context: PollContext): PollResult =>
  failPoll(state, 0, error.message, context)

/** A successful answer with something else in place of the document; undefined for any other answer. */
export const failStandIn = (state: ResourceState, answer: Fetched, context: PollContext): PollResult | undefined => {
  const text = describeStandIn(answer)
  return text === undefined
    ? undefined
    : failPoll(state, answer.status, text, context, retryTime(answer, context.now))
}

/** Longest pause after a kill. */
const maxKillPauseHours = 24

/**
 * A document whose reading or selection was killed at a limit of time or memory.
 *
 * The resource pauses for an hour, and twice as long after each further kill. A resource of accounts pauses from the second kill on. Pings
 * and pushes do not end the pause, because they would cause the next kill.
 */
const failKilled = (state: ResourceState, answer: Fetched, text: string, context: PollContext): PollResult => {
  const kills = (state.serverProfile?.kills ?? 0) + 1
  const doublings = kills - (state.strangersOnly === true ? 1 : 2)
  const killedUntil = context.now + (doublings < 0 ? 0 : Math.min(2 ** doublings, maxKillPauseHours) * hourMs)
  const failed = failPoll(state, answer.status, text, context, killedUntil)
  const after = stateAfter(failed)
  return withState(failed, { ...after, serverProfile: { ...after.serverProfile, kills, killedUntil } })
}

/** A document that the reader could not read in time. */
export const failReading = (
  state: ResourceState,
  answer: Fetched,
  error: ReaderError,
  context: PollContext
): PollResult => failKilled(state, answer, `Parser Error ${error.message}`, context)

/** A document in which the selector failed. */
export const failSelection = (
  state: ResourceState,
  answer: Fetched,
  error: SelectorError,
  context: PollContext
): PollResult => {
  const text = `Parser Error ${error.message}`
  return error.reason._tag === "Killed"
    ? failKilled(state, answer, text, context)
    : failPoll(state, answer.status, text, context)
}

/**
 * The write for a resource that is not fetched until then (epoch ms); undefined if the schedule alone moves.
 *
 * The status tells the pause of strangers. The pause of a host is told before the first fetch only, because later statuses describe the
 * last document.
 */
export const postponePoll = (state: ResourceState, until: number, reason?: string): PollWrite | undefined => {
  const { host, lastFetch } = state
  const http = reason !== undefined
    ? describePause(reason)
    : lastFetch === undefined
    ? `Not fetched yet: ${host} asked to be left alone until ${new Date(until).toISOString()}`
    : state.http
  return http === undefined || http === state.http ? undefined : silentWrite({ ...state, nextFetch: until, http })
}
