import { Effect } from "effect"
import {
  type ClaimedVerification,
  claimTimeMs,
  isShareFull,
  maxVerificationDelayMs,
  maxWaitingVerifications,
  quotaKeyOf,
  turnLimitsOf,
  type Verification,
  type VerificationLane,
  type VerificationOrigin,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { allocate, pacedAt, ratesOf } from "#domain/limits/FairTurns.ts"
import { addRequest } from "#domain/limits/SlidingWindow.ts"
import { operation, type State, type Waiting } from "./State.ts"

export const make = (state: State): VerificationQueue["Service"] =>
  VerificationQueue.of({
    add: Effect.fn("VerificationQueue.add")((question, lane, origin) =>
      operation(state, (now) => add(state, question, lane, origin, now))
    ),
    contains: Effect.fn("VerificationQueue.contains")((wanted) =>
      operation(state, () => about(state, wanted).length > 0)
    ),
    claim: Effect.fn("VerificationQueue.claim")((bounds) => operation(state, (now) => claim(state, bounds, now))),
    settle: Effect.fn("VerificationQueue.settle")(({ id }) => operation(state, () => void state.questions.delete(id))),
    deny: Effect.fn("VerificationQueue.deny")((asked, reason) =>
      operation(state, (now) => deny(state, asked, reason, now))
    ),
    reserve: Effect.fn("VerificationQueue.turn")((quota, perMinute) =>
      operation(state, (now) => {
        const at = pacedAt(quota, (key) => state.turns.get(key) ?? [], now, perMinute)
        if (at > now) return at - now
        for (const [key, rate] of ratesOf(quota, perMinute)) {
          state.turns.set(key, addRequest(state.turns.get(key) ?? [], now, rate))
        }
        return 0
      })
    )
  })

const keyOf = ({ accountId, endpoint, face, topic }: NewSubscription): string =>
  JSON.stringify([accountId, face, topic.canonical, endpoint])

/** Those about the same topic and callback, as they came. */
const about = (state: State, wanted: NewSubscription): ReadonlyArray<Waiting> =>
  [...state.questions.values()].filter(({ verification }) => keyOf(verification.subscription) === keyOf(wanted))

const add = (
  state: State,
  question: Verification,
  lane: VerificationLane,
  origin: VerificationOrigin,
  now: number
) => {
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
  const inLane = waiting.filter((one) => one.lane === lane)
  const ofNetwork = inLane.filter((one) => one.network === origin.network)
  const ofAsker = ofNetwork.filter((one) => one.asker === origin.asker)
  if (isShareFull(lane, { lane: inLane.length, network: ofNetwork.length, asker: ofAsker.length })) return "asker-full"
  put(state, { id: state.serial(), lane, verification: question, site, ...origin, claimed: false, dueAt: now })
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
  const running = [...state.questions.values()].filter((one) =>
    one.lane === lane && one.claimed && one.dueAt > now && one.dueAt <= now + claimTimeMs
  )
  const count = (key: "network" | "target") =>
    new Map([...Map.groupBy(running, (one) => one[key])].map(([name, ones]) => [name, ones.length] as const))
  const { allowed, deferred, windows } = allocate(
    due,
    (key) => state.turns.get(key) ?? [],
    { networks: count("network"), targets: count("target") },
    now,
    { limit, perMinute, ...turnLimitsOf(lane) }
  )
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
