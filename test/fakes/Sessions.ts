import { Effect, Option } from "effect"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { hasEnded, maxSessions, type Session } from "#domain/Session.ts"
import { minuteMs } from "#domain/Time.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): SessionStore["Service"] => {
  const { sessions } = state
  const open = (now: number) => [...sessions].filter(([, session]) => !hasEnded(session, now))
  const listOf = (accountId: number, now: number): ReadonlyArray<Session> =>
    open(now).map(([, session]) => session).filter((session) => session.accountId === accountId)
      .toSorted((a, b) => b.usedAt - a.usedAt || b.id - a.id)
  return SessionStore.of({
    create: Effect.fn("SessionStore.create")((hash, wanted) =>
      operation(state, (now) => {
        const surplus = new Set(listOf(wanted.accountId, now).slice(maxSessions - 1).map(({ id }) => id))
        for (const [key, session] of sessions) {
          if (hasEnded(session, now) || surplus.has(session.id)) sessions.delete(key)
        }
        const session: Session = { ...wanted, id: state.serial(), createdAt: now, usedAt: now }
        sessions.set(keyOf(hash), session)
        return session
      })
    ),
    use: Effect.fn("SessionStore.use")((hash) =>
      operation(state, (now) => {
        const session = open(now).find(([key]) => key === keyOf(hash))?.[1]
        if (session !== undefined && now - session.usedAt >= minuteMs) {
          sessions.set(keyOf(hash), { ...session, usedAt: now })
        }
        return Option.fromNullishOr(session)
      })
    ),
    end: Effect.fn("SessionStore.end")((accountId, id) =>
      operation(state, (now) => {
        const found = open(now).find(([, session]) => session.accountId === accountId && session.id === id)
        return found !== undefined && sessions.delete(found[0])
      })
    ),
    findOpen: Effect.fn("SessionStore.findOpen")((ids) =>
      operation(
        state,
        (now) => new Set(open(now).flatMap(([, { id }]) => ids.includes(id) ? [id] : []))
      )
    ),
    list: Effect.fn("SessionStore.list")((accountId) => operation(state, (now) => listOf(accountId, now)))
  })
}

const keyOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex")
