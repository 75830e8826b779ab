import { Effect } from "effect"
import { type Asked, claimedFor, maxWaiting, type Question, QuestionQueue } from "#domain/ports/QuestionQueue.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import { siteOf } from "#domain/Topic.ts"
import { allot, nextTurn, withTurn } from "#domain/Turns.ts"
import { operation, type State, type Waiting } from "./State.ts"

export const make = (state: State): QuestionQueue["Service"] =>
  QuestionQueue.of({
    add: Effect.fn("QuestionQueue.add")((question) => operation(state, (now) => add(state, question, now))),
    holds: Effect.fn("QuestionQueue.holds")((wanted) => operation(state, () => state.questions.has(keyOf(wanted)))),
    claim: Effect.fn("QuestionQueue.claim")((bounds) => operation(state, (now) => claim(state, bounds, now))),
    settle: Effect.fn("QuestionQueue.settle")((asked) => operation(state, (now) => settle(state, asked, now))),
    deny: Effect.fn("QuestionQueue.deny")((asked, reason) =>
      operation(state, (now) => deny(state, asked, reason, now))
    ),
    turn: Effect.fn("QuestionQueue.turn")((site, perMinute) =>
      operation(state, (now) => {
        const turns = state.turns.get(site) ?? []
        const at = nextTurn(turns, now, perMinute)
        if (at === now) state.turns.set(site, withTurn(turns, now, perMinute))
        return at - now
      })
    )
  })

const keyOf = ({ accountId, endpoint, face, topic }: NewSubscription): string =>
  JSON.stringify([accountId, face, topic.canonical, endpoint])

const add = (state: State, question: Question, now: number) => {
  const key = keyOf(question.wanted)
  const known = state.questions.get(key)
  if (known !== undefined) {
    state.questions.set(key, { ...known, question, revision: known.revision + 1 })
    return "added"
  }
  const site = siteOf(question.wanted.host)
  const waiting = [...state.questions.values()]
  if (waiting.length >= maxWaiting.total) return "full"
  if (waiting.filter((one) => one.site === site).length >= maxWaiting.site) return "site-full"
  state.questions.set(key, { id: state.serial(), revision: 1, question, site, dueAt: now })
  return "added"
}

const claim = (state: State, bounds: { readonly limit: number; readonly perMinute: number }, now: number) => {
  const due = [...state.questions.values()].filter(({ dueAt }) => dueAt <= now)
    .toSorted((a, b) => a.dueAt - b.dueAt || a.id - b.id)
  const { asked, moved, turns } = allot(due, (site) => state.turns.get(site) ?? [], now, bounds)
  for (const [site, taken] of turns) state.turns.set(site, taken)
  for (const { dueAt, one } of moved) put(state, { ...one, dueAt })
  for (const one of asked) put(state, { ...one, dueAt: now + claimedFor })
  return asked.map(({ id, question, revision }): Asked => ({ id, question, revision }))
}

const put = (state: State, one: Waiting) => state.questions.set(keyOf(one.question.wanted), one)

const settle = (state: State, { id, question, revision }: Asked, now: number) => {
  const key = keyOf(question.wanted)
  const known = state.questions.get(key)
  if (known?.id !== id) return
  if (known.revision === revision) state.questions.delete(key)
  else put(state, { ...known, dueAt: now })
}

const deny = (state: State, { id, question, revision }: Asked, reason: string, now: number) => {
  const known = state.questions.get(keyOf(question.wanted))
  if (known?.id !== id) return
  put(state, {
    ...known,
    question: known.revision === revision ? { mode: "denied", wanted: question.wanted, reason } : known.question,
    revision: known.revision + 1,
    dueAt: now
  })
}
