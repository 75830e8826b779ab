import type { FetchRequest } from "#domain/ports/Fetcher.ts"
import { withoutFragment } from "./Fragment.ts"
import type { PollContext } from "./PollStep.ts"
import type { ResourceState } from "./Resource.ts"
import { dayMs } from "#domain/Time.ts"

/**
 * The conditional GET for a resource.
 *
 * One GET a day is unconditional and goes to the topic itself. So a lying validator hides news for a day at most, and the owner of a moved
 * topic can take the topic back. When the topic fails, the daily GET goes to the new URL, because a new URL outlives the old one.
 *
 * A shared answer may be as old as the due time of the resource, or as the last ping (`pingedAt`, epoch ms).
 */
export const requestOf = (state: ResourceState, now: number, pingedAt?: number): FetchRequest => {
  const { permanentRedirect, validatorTrust } = state.serverProfile ?? {}
  const isWhole = state.signature === undefined || state.inError || isUnproven(state, now)
  const isUnconditional = isWhole || validatorTrust === "trial"
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
