import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { maxAgeMs, maxIdleMs, maxSessions } from "#domain/Session.ts"
import { minuteMs } from "#domain/Time.ts"
import { at, newAccount, type Stores, unique } from "#test/support/StoreFixture.ts"

const hashOf = (name: string) => Buffer.from(name.padEnd(32, "·").slice(0, 32))

const signIn = (accountId: number, name: string, now: number) =>
  SessionStore.use((store) =>
    store.create(hashOf(name), { accountId, credential: "token:7", address: "192.0.2.1", agent: "Browser/1" })
  ).pipe(at(now))

const use = (name: string, now: number) => SessionStore.use((store) => store.use(hashOf(name))).pipe(at(now))

const idsOf = (accountId: number, now: number) =>
  SessionStore.use((store) => store.list(accountId)).pipe(at(now), Effect.map((all) => all.map(({ id }) => id)))

/** After all other times of the tests, which share the store: a sign-in deletes ended sessions of all accounts. */
const start = 4_000_000_000_000

/** What every `SessionStore` keeps of its promises. */
export const sessionStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("SessionStore", () => {
    it.effect("finds a session by the hash of its secret, and notes its use once a minute", () =>
      Effect.gen(function*() {
        const { id: accountId } = yield* newAccount
        const name = unique("s")
        const session = yield* signIn(accountId, name, start)
        assert.deepStrictEqual(session, {
          id: session.id,
          accountId,
          credential: "token:7",
          address: "192.0.2.1",
          agent: "Browser/1",
          createdAt: start,
          usedAt: start
        })
        yield* use(name, start + minuteMs - 1)
        assert.deepStrictEqual(yield* use(name, start + minuteMs), Option.some(session))
        assert.deepStrictEqual(
          yield* use(name, start + minuteMs + 1),
          Option.some({ ...session, usedAt: start + minuteMs })
        )
        assert.deepStrictEqual(yield* use(unique("other"), start), Option.none())
      }))

    it.effect("ends a session after idle time, and at its greatest age", () =>
      Effect.gen(function*() {
        const { id: accountId } = yield* newAccount
        const idle = unique("s")
        yield* signIn(accountId, idle, start)
        assert.isTrue(Option.isSome(yield* use(idle, start + maxIdleMs - 1)))
        assert.isTrue(Option.isNone(yield* use(idle, start + 2 * maxIdleMs - 1)))
        const busy = unique("s")
        yield* signIn(accountId, busy, start)
        for (let now = start; now < start + maxAgeMs; now += maxIdleMs - minuteMs) {
          assert.isTrue(Option.isSome(yield* use(busy, now)))
        }
        assert.isTrue(Option.isNone(yield* use(busy, start + maxAgeMs)))
      }))

    it.effect("tells the open ones of some sessions, which is no use of them", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const { id: accountId } = yield* newAccount
        const [idle, ended, busy] = [unique("s"), unique("s"), unique("s")]
        const ids = [
          (yield* signIn(accountId, idle, start)).id,
          (yield* signIn(accountId, ended, start)).id,
          (yield* signIn(accountId, busy, start)).id
        ]
        const openAt = (now: number) => Effect.map(store.findOpen(ids).pipe(at(now)), (open) => [...open].toSorted())
        yield* store.end(accountId, ids[1] ?? 0).pipe(at(start))
        assert.deepStrictEqual(yield* openAt(start + maxIdleMs - 1), [ids[0], ids[2]].toSorted())
        yield* use(busy, start + minuteMs)
        assert.deepStrictEqual(yield* openAt(start + maxIdleMs), [ids[2]])
        assert.deepStrictEqual(yield* store.findOpen([]).pipe(at(start)), new Set())
      }))

    it.effect("ends a session for its account alone", () =>
      Effect.gen(function*() {
        const store = yield* SessionStore
        const { id: accountId } = yield* newAccount
        const other = yield* newAccount
        const name = unique("s")
        const { id } = yield* signIn(accountId, name, start)
        assert.isFalse(yield* store.end(other.id, id).pipe(at(start)))
        assert.isTrue(Option.isSome(yield* use(name, start)))
        assert.isTrue(yield* store.end(accountId, id).pipe(at(start)))
        assert.isTrue(Option.isNone(yield* use(name, start)))
        assert.isFalse(yield* store.end(accountId, id).pipe(at(start)))
      }))

    it.effect("keeps the sessions of an account that were used last", () =>
      Effect.gen(function*() {
        const { id: accountId } = yield* newAccount
        const names = Array.from({ length: maxSessions + 2 }, () => unique("s"))
        const ids: Array<number> = []
        for (const [i, name] of names.entries()) ids.push((yield* signIn(accountId, name, start + i)).id)
        assert.deepStrictEqual(yield* idsOf(accountId, start + 100), ids.slice(2).toReversed())
      }))
  })
}
