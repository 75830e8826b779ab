import type { Fetched, FetchError, FetchRequest } from "#domain/ports/Fetcher.ts"
import { withoutFragment } from "./Fragment.ts"
import type { PollContext } from "./PollStep.ts"
import type { ResourceState } from "./Resource.ts"
import { isOverloaded } from "./RetryAfter.ts"
import type { ConditionRefusal } from "./Validators.ts"
import { dayMs } from "#domain/Time.ts"

/**
 * The conditional GET for a resource.
 *
 * One GET a day is unconditional and goes to the topic itself. So a lying validator hides news for a day at most, and the owner of a moved
 * topic can take the topic back. When the topic fails, the daily GET goes to the new URL, because a new URL outlives the old one. After a
 * failure the GET is unconditional as well, because the validators may be the cause.
 *
 * A shared answer may be as old as the due time of the resource, or as the last ping (`pingedAt`, epoch ms).
 */
export const requestOf = (state: ResourceState, now: number, pingedAt?: number): FetchRequest => {
  const { permanentRedirect, validatorTrust } = state.serverProfile ?? {}
  const isWhole = state.signature === undefined || state.inError || isUnproven(state, now)
  const isUnconditional = isWhole || state.failures > 0 || validatorTrust === "trial"
  const url = permanentRedirect?.settled === true && (!isWhole || hasTopicFailed(state))
    ? permanentRedirect.to
    : withoutFragment(state.url)
  return {
    url,
    since: pingedAt ?? Math.min(state.nextFetch, now),
    ...(url === state.url ? {} : { shared: true }),
    ...(isUnconditional || state.etag === undefined ? {} : { etag: state.etag }),
    ...(isUnconditional || state.lastModified === undefined ? {} : { lastModified: state.lastModified })
  }
}

/** Statuses that tell about the request, and not about the document or the moment. */
const refusingStatuses: ReadonlySet<number> = new Set([400, 405, 406, 412, 417, 422, 428, 431, 501])

/**
 * Whether a server may have refused the conditions of the request; undefined for any other answer.
 *
 * Some servers answer 4xx or 5xx, or close the connection, when a request has their own validators. An overloaded server is not asked twice.
 */
export const conditionRefusalOf = (
  { etag, lastModified }: FetchRequest,
  answer: Fetched | FetchError
): ConditionRefusal | undefined => {
  if (etag === undefined && lastModified === undefined) return undefined
  if (!("status" in answer)) return answer.reason._tag === "Protocol" ? "possible" : undefined
  if (answer.status < 400 || isOverloaded(answer)) return undefined
  return refusingStatuses.has(answer.status) ? "certain" : "possible"
}

/** The same request without conditions. */
export const withoutConditions = ({ etag: _, lastModified: __, ...request }: FetchRequest): FetchRequest => request

/** Whether the last whole comparison of the document is a day old. Since then, only 304 answers have vouched for the document. */
export const isUnproven = ({ lastUnconditionalFetch }: ResourceState, now: number): boolean =>
  now - (lastUnconditionalFetch ?? 0) >= dayMs

/** Whether the topic itself failed at the daily fetch, so that the new URL is fetched instead. */
const hasTopicFailed = ({ lastUnconditionalFetch, serverProfile }: ResourceState): boolean =>
  (serverProfile?.permanentRedirect?.topicFailedAt ?? 0) > (lastUnconditionalFetch ?? 0)

/** Whether an answer counts as the daily fetch. Answers of a new URL do not, or its owner could keep the topic for ever. */
export const isDailyFetch = (state: ResourceState, context: PollContext): boolean =>
  context.trigger !== "push" && (
    context.requestedUrl === undefined || context.requestedUrl === withoutFragment(state.url) || hasTopicFailed(state)
  )
