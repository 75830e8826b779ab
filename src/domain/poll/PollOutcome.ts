import { unpackFingerprints } from "#domain/Fingerprint.ts"
import type { ReadOptions } from "#domain/ports/FeedReader.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { fragmentOf, withoutFragment } from "./Fragment.ts"
import { hasHub } from "./HubLinks.ts"
import { isMaintenanceDue, maintain } from "./Maintenance.ts"
import { nextRedirect } from "./PermanentRedirect.ts"
import { failPoll, failStandIn } from "./PollFailure.ts"
import { isDailyFetch, isUnproven } from "./PollRequest.ts"
import { isSuccess, type PollContext, type PollResult, type PollStep, stateAfter, withState } from "./PollStep.ts"
import { recordUnchanged } from "./PollSuccess.ts"
import type { ResourceState } from "./Resource.ts"
import { isOverloaded, retryTime } from "./RetryAfter.ts"
import { describeChallenge } from "./RobotCheck.ts"
import { serverProfileOf } from "./ServerProfile.ts"

/** The first step after an answer. Most polls end here, without reading. */
export const interpretAnswer = (state: ResourceState, answer: Fetched, context: PollContext): PollStep => {
  const { status } = answer
  if (status === 304 && state.signature === undefined) return failPoll(state, 304, unrequestedNotModified, context)
  if (status === 304 || isSuccess(status) && isSameDocument(state, answer, context)) {
    return recordUnchanged(state, answer, context)
  }
  if (!isSuccess(status)) {
    return failPoll(state, status, describeChallenge(answer), context, retryTime(answer, context.now))
  }
  const fragment = fragmentOf(state.url)
  return fragment?.language === "jsonpath"
    ? failStandIn(state, answer, context) ?? { _tag: "Select", fragment, syntax: "json" }
    : { _tag: "Read", options: readOptionsOf(state, answer, context) }
}

/** A 304 to a request without validators, mostly from a broken cache. */
const unrequestedNotModified =
  "the server says that nothing has changed, although it was not asked for changes and has sent nothing before"

/**
 * Whether the answer has the bytes of the last document.
 *
 * Bytes that a stranger pushed are read once more, because their hubs are unknown. Once a day known bytes with a hub are read as well,
 * because Link headers are no part of the bytes, and an intruder may have set them.
 */
const isSameDocument = (state: ResourceState, answer: Fetched, context: PollContext): boolean => {
  const { header, inError, serverProfile, signature } = state
  if (answer.signature !== signature || inError) return false
  if (context.trigger === "push") return true
  return serverProfile?.statusBeforePush === undefined &&
    !(isDailyFetch(state, context) && isUnproven(state, context.now) && hasHub(header, answer))
}

const readOptionsOf = (
  state: ResourceState,
  { finalUrl, headers }: Fetched,
  { trigger }: PollContext
): ReadOptions => ({
  ...(headers["content-type"] === undefined ? {} : { contentType: headers["content-type"] }),
  ...(headers["content-language"] === undefined ? {} : { contentLanguage: headers["content-language"] }),
  ...(headers["content-location"] === undefined ? {} : { contentLocation: headers["content-location"] }),
  url: finalUrl,
  // A pushed document may hold new entries only, so the known slices say nothing about it.
  ...(state.slices.length === 0 || trigger === "push" ? {} : { seenSlices: unpackFingerprints(state.slices) })
})

/**
 * The final result of a fetch: with the permanent redirects of the answer, and with the maintenance of the resource when it is due.
 *
 * `answer` is undefined after a fetch without an answer; such a poll does no maintenance. `pornRank` is only used by the maintenance.
 */
export const finish = (
  result: PollResult,
  answer: Fetched | undefined,
  context: PollContext,
  pornRank?: number
): PollResult => {
  const redirected = deferIfScheduled(withRedirect(result, answer, context), context)
  if (answer === undefined) return redirected
  const state = stateAfter(redirected)
  return isMaintenanceDue(state, context.now)
    ? withState(redirected, maintain(state, context.now, pornRank))
    : redirected
}

/** No publisher waits for a scheduled poll, so its write may share a statement with others. */
const deferIfScheduled = (result: PollResult, { trigger }: PollContext): PollResult =>
  result._tag === "Changed" && (trigger === "ring" || trigger === "late")
    ? { _tag: "Changed", change: { ...result.change, mayWait: true } }
    : result

/** The result with the changed permanent redirect of the topic. Nearly all answers change none. */
const withRedirect = (result: PollResult, answer: Fetched | undefined, context: PollContext): PollResult => {
  const state = stateAfter(result)
  const { failures, serverProfile, url } = state
  if (serverProfile?.permanentRedirect === undefined && answer?.permanentUrl === undefined) return result
  const topic = withoutFragment(url)
  const permanentRedirect = nextRedirect(serverProfile?.permanentRedirect, {
    topic,
    requestedUrl: context.requestedUrl ?? topic,
    permanentUrl: answer?.permanentUrl,
    outcome: failures === 0 ? "success" : answer !== undefined && isOverloaded(answer) ? "overload" : "failure",
    now: context.now
  })
  if (permanentRedirect === serverProfile?.permanentRedirect) return result
  const { serverProfile: _, ...others } = state
  return withState(result, { ...others, ...serverProfileOf({ ...serverProfile, permanentRedirect }) })
}
