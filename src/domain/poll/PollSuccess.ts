import type { FeedHeader } from "#domain/feed/Feed.ts"
import { limitHeader } from "#domain/feed/HeaderLimit.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { withoutFragment } from "./Fragment.ts"
import { locationOf } from "./LoginWall.ts"
import { isDailyFetch, isUnproven } from "./PollRequest.ts"
import { schedule } from "./PollSchedule.ts"
import { type PollContext, type PollResult, silentWrite } from "./PollStep.ts"
import type { ResourceKind, ResourceState } from "./Resource.ts"
import { type ServerProfileChanges, serverProfileOf } from "./ServerProfile.ts"
import { describeFetch, isPaused } from "./Status.ts"
import { nextValidators, type Validators } from "./Validators.ts"

/**
 * A poll without news: most polls end here, and copy the state once.
 *
 * The row is written when a validator, the location or the error state changed. After a whole comparison the row is written once a day,
 * because a passivated resource would forget the comparison.
 */
export const recordUnchanged = (state: ResourceState, answer: Fetched, context: PollContext): PollResult => {
  const { now, trigger } = context
  const isRecovered = state.failures > 0 || isPaused(state.http)
  const planned = schedule(state, answer, "unchanged", context)
  const healthy = isRecovered
    ? { ...withoutFailures(planned), http: describeFetch(trigger, answer.status, planned.period) }
    : planned
  if (trigger === "push") {
    const pushed = state.code === 304 ? { ...healthy, code: 304 } : healthy
    return isRecovered ? { _tag: "Changed", change: silentWrite(pushed) } : { _tag: "Unchanged", state: pushed }
  }
  const isWhole = answer.status !== 304 && isDailyFetch(state, context) && isUnproven(state, now)
  const next = isWhole ? { ...healthy, lastUnconditionalFetch: now } : healthy
  const { refusal } = context
  const validators = nextValidators(validatorsOf(state), answer, {
    changed: false,
    afterNotModified: false,
    refusal,
    now
  })
  const { serverProfile } = state
  const isSettled = validators.etag === state.etag && validators.lastModified === state.lastModified &&
    validators.trust === serverProfile?.validatorTrust && validators.caughtLyingAt === serverProfile?.caughtLyingAt &&
    validators.refusedOnce === serverProfile?.refusedOnce && !isWhole
  const lastLocation = locationAfter(state, state.kind, answer, context)
  if (isSettled && !isRecovered && lastLocation === serverProfile?.lastLocation) {
    return { _tag: "Unchanged", state: next }
  }
  return { _tag: "Changed", change: silentWrite(withValidators(next, validators, { lastLocation })) }
}

const withoutFailures = ({ serverProfile, ...state }: ResourceState): ResourceState => ({
  ...state,
  failures: 0,
  ...serverProfileOf({ ...serverProfile, unreadableSince: undefined })
})

/** The state after a readable document. */
export const recordParsed = (
  state: ResourceState,
  answer: Fetched,
  kind: ResourceKind,
  changed: boolean,
  context: PollContext,
  outcome: string
): ResourceState => {
  const { now, trigger } = context
  const next = schedule({ ...state, kind }, answer, changed ? "changed" : "unchanged", context)
  const known = validatorsOf(state)
  const isPush = trigger === "push"
  const validators = isPush ? known : nextValidators(known, answer, {
    changed: changed && !(isComparedByBytes(kind) && hasWeakTag(known)),
    afterNotModified: lastFetchedStatus(state) === 304 && isUnproven(state, now),
    refusal: context.refusal,
    now
  })
  return {
    ...withValidators(next, validators, {
      unreadableSince: undefined,
      statusBeforePush: isPush ? lastFetchedStatus(state) : undefined
    }),
    failures: 0,
    inError: false,
    http: describeFetch(trigger, answer.status, next.period, outcome),
    lastParse: now,
    ...(isDailyFetch(state, context) ? { lastUnconditionalFetch: now } : {}),
    signature: answer.signature
  }
}

/** The status of the last fetch; a push is no fetch. */
const lastFetchedStatus = ({ code, serverProfile }: ResourceState): number | undefined =>
  code === 200 ? serverProfile?.statusBeforePush ?? code : code

/** Pages may differ at each request, for example in a token or a time. */
const isComparedByBytes = (kind: ResourceKind): boolean => kind === "json" || kind === "other"

/** Documents with the same weak tag mean the same, and may differ in their bytes (RFC 9110, 8.8.1). */
const hasWeakTag = ({ etag }: Validators): boolean => etag?.startsWith("W/") ?? false

const validatorsOf = ({ etag, lastModified, serverProfile }: ResourceState): Validators => ({
  etag,
  lastModified,
  trust: serverProfile?.validatorTrust,
  caughtLyingAt: serverProfile?.caughtLyingAt,
  refusedOnce: serverProfile?.refusedOnce
})

const withValidators = (
  { etag: _, lastModified: __, serverProfile, ...state }: ResourceState,
  { caughtLyingAt, etag, lastModified, refusedOnce, trust }: Validators,
  changes: ServerProfileChanges
): ResourceState => ({
  ...state,
  ...(etag === undefined ? {} : { etag }),
  ...(lastModified === undefined ? {} : { lastModified }),
  ...serverProfileOf({ ...serverProfile, validatorTrust: trust, caughtLyingAt, refusedOnce, ...changes })
})

/** The requested URL, without its fragment. */
export const requestedUrlOf = ({ url }: ResourceState, { requestedUrl }: PollContext): string =>
  requestedUrl ?? withoutFragment(url)

export const isPage = (kind: ResourceKind): boolean => kind === "other" || kind === "html-fragment"

/** The location of a page after its redirects. A push has no location, and changes none. */
export const locationAfter = (
  state: ResourceState,
  kind: ResourceKind,
  answer: Fetched,
  context: PollContext
): string | undefined =>
  context.trigger === "push"
    ? state.serverProfile?.lastLocation
    : isPage(kind)
    ? locationOf(requestedUrlOf(state, context), answer.finalUrl)
    : undefined

/**
 * The header to remember, at most 64 KiB: the previous one if both say the same, else a copy by way of JSON.
 *
 * A string that was cut from a document keeps the whole document in memory. The copy does not.
 */
export const rememberHeader = (before: FeedHeader | undefined, found: FeedHeader): FeedHeader => {
  const json = JSON.stringify(found)
  const header = limitHeader(found, json)
  const text = header === found ? json : JSON.stringify(header)
  // The text comes from the line above, so no schema checks it.
  return before !== undefined && text === JSON.stringify(before) ? before : JSON.parse(text) as FeedHeader
}
