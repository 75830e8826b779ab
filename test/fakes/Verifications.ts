import { Effect } from "effect"
import {
  type ClaimedVerification,
  claimTimeMs,
  maxVerificationDelayMs,
  maxWaitingVerifications,
  quotaKeyOf,
  type Verification,
  type VerificationLane,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { addRequest, allocate, nextAllowedAt } from "#domain/websub/SlidingWindow.ts"
import { operation, type State, type Waiting } from "./State.ts"

export const make = (state: State): VerificationQueue["Service"] =>
  VerificationQueue.of({
    add: Effect.fn("VerificationQueue.add")((question, lane) =>
      operation(state, (now) => add(state, question, lane, now))
    ),
    contains: Effect.fn("VerificationQueue.contains")((wanted) =>
      operation(state, () => about(state, wanted).length > 0)
    ),
    claim: Effect.fn("VerificationQueue.claim")((bounds) => operation(state, (now) => claim(state, bounds, now))),
    settle: Effect.fn("VerificationQueue.settle")(({ id }) => operation(state, () => void state.questions.delete(id))),
    deny: Effect.fn("VerificationQueue.deny")((asked, reason) =>
      operation(state, (now) => deny(state, asked, reason, now))
    ),
    reserve: Effect.fn("VerificationQueue.turn")((place, perMinute) =>
      operation(state, (now) => {
        const turns = state.turns.get(place) ?? []
        const at = nextAllowedAt(turns, now, perMinute)
        if (at === now) state.turns.set(place, addRequest(turns, now, perMinute))
        return at - now
      })
    )
  })

const keyOf = ({ accountId, endpoint, face, topic }: NewSubscription): string =>
  JSON.stringify([accountId, face, topic.canonical, endpoint])

/** Those about the same topic and callback, as they came. */
const about = (state: State, wanted: NewSubscription): ReadonlyArray<Waiting> =>
  [...state.questions.values()].filter(({ verification }) => keyOf(verification.subscription) === keyOf(wanted))

const add = (state: State, question: Verification, lane: VerificationLane, now: number) => {
  const site = quotaKeyOf(lane, question.subscription)
  const pair = about(state, question.subscription)
  const last = pair.at(-1)
  if (last?.claimed === false && JSON.stringify(last.verification) === JSON.stringify(question)) return "added"
  const waiting = [...state.questions.values()]
  const most = maxWaitingVerifications[lane]
  if (waiting.filter((one) => one.lane === lane).length >= most.perLane) return "lane-full"
  if (pair.length >= most.perSubscription || waiting.filter((one) => one.site === site).length >= most.perQuota) {
    return "site-full"
  }
  put(state, { id: state.serial(), lane, verification: question, site, claimed: false, dueAt: now })
  return "added"
}

const claim = (
  state: State,
  { lane, limit, perMinute }: Parameters<VerificationQueue["Service"]["claim"]>[0],
  now: number
) => {
  const due = [...state.questions.values()]
    .filter((one) =>
      one.lane === lane && (one.dueAt <= now || one.dueAt > now + maxVerificationDelayMs) &&
      about(state, one.verification.subscription)[0] === one
    )
    .toSorted((a, b) => a.dueAt - b.dueAt || a.id - b.id)
  const { allowed, deferred, windows } = perMinute === undefined
    ? { allowed: due.slice(0, limit), deferred: [], windows: [] }
    : allocate(due, (site) => state.turns.get(site) ?? [], now, { limit, perMinute })
  for (const [site, taken] of windows) state.turns.set(site, taken)
  for (const { dueAt, request } of deferred) put(state, { ...request, claimed: false, dueAt })
  for (const one of allowed) put(state, { ...one, claimed: true, dueAt: now + claimTimeMs })
  return allowed.map(({ id, verification: question }): ClaimedVerification => ({ id, verification: question }))
}

const put = (state: State, one: Waiting) => state.questions.set(one.id, one)

const deny = (state: State, { id, verification }: ClaimedVerification, reason: string, now: number) => {
  const known = state.questions.get(id)
  if (known === undefined) return
  if (about(state, verification.subscription).at(-1)?.id !== id) return void state.questions.delete(id)
  const denial: Verification = { mode: "denied", subscription: verification.subscription, reason }
  put(state, { ...known, verification: denial, claimed: false, dueAt: now })
}
