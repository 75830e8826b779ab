import type { Fetched } from "#domain/ports/Fetcher.ts"
import { hintOf, type IntervalInput, nextFetch, nextPeriod } from "./PollingInterval.ts"
import type { PollContext } from "./PollStep.ts"
import type { ResourceState } from "./Resource.ts"
import { retryTime } from "./RetryAfter.ts"

/** The state after an answer: its status, the next period and the time of the next fetch. */
export const schedule = (
  state: ResourceState,
  answer: Fetched,
  outcome: "changed" | "unchanged",
  context: PollContext
): ResourceState => {
  const { jitter, now, trigger } = context
  const period = periodAfter(state, outcome, context, hintOf(answer.headers, state.header?.hints, now))
  const next = nextFetch(now, period, jitter, retryTime(answer, now))
  return {
    ...state,
    code: answer.status,
    period,
    lastFetch: now,
    // Repeated pushes do not postpone the poll that finds entries without a push.
    nextFetch: trigger === "push" ? Math.min(next, Math.max(state.nextFetch, now)) : next
  }
}

/** Seconds until the next fetch, see `nextPeriod`. */
export const periodAfter = (
  { kind, lastFetch, period, subscribers, velocity }: ResourceState,
  outcome: IntervalInput["outcome"],
  context: PollContext,
  hint: number
): number =>
  nextPeriod(
    { kind, period: lastFetch === undefined ? undefined : period, outcome, velocity, subscribers, hint },
    context
  )
