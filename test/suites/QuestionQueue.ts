import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { type Asked, claimedFor, maxWaiting, type Question, QuestionQueue } from "#domain/ports/QuestionQueue.ts"
import { at, type Stores, unique, wantedBy } from "#test/support/StoreFixture.ts"

const site = () => `${unique("site")}.example`

/** A request of the hub face, whose callback is on this host. */
const question = (host: string, mode: "subscribe" | "unsubscribe" = "subscribe"): Question => {
  const wanted = wantedBy(0, { face: "hub", host, endpoint: `https://${host}/${unique("hook")}` })
  return mode === "subscribe" ? { mode, wanted, leaseSeconds: 864_000 } : { mode, wanted }
}

const add = (one: Question) => QuestionQueue.use((queue) => queue.add(one))
const settle = (asked: Asked) => QuestionQueue.use((queue) => queue.settle(asked))

/** Those of these hosts whose turn has come: other tests share the queue. */
const claim = (hosts: ReadonlyArray<string>, perMinute = 10, limit = 500) =>
  Effect.map(
    QuestionQueue.use((queue) => queue.claim({ limit, perMinute })),
    (claimed) => claimed.filter(({ question }) => hosts.includes(question.wanted.host))
  )

const questions = (claimed: ReadonlyArray<Asked>) => claimed.map(({ question }) => question)

export const questionQueueSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  describe("QuestionQueue", () => {
    it.effect("gives back every field of a question, to one who asks and no other", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const full: Question = {
          mode: "subscribe",
          leaseSeconds: 86_400,
          verifyToken: "t\u0000ken é",
          wanted: { ...one.wanted, secret: "s\u{1f985}", signature: "sha384" }
        }
        assert.strictEqual(yield* at(1_000)(add(full)), "added")
        const claimed = yield* at(1_000)(claim([host]))
        assert.deepStrictEqual(questions(claimed), [full])
        assert.deepStrictEqual(yield* at(1_000)(claim([host])), [])
        yield* Effect.forEach(claimed, settle)
        assert.deepStrictEqual(yield* at(1e9)(claim([host])), [])
      }))

    it.effect("asks those that came first first, and no more than are asked for", () =>
      Effect.gen(function*() {
        const hosts = [site(), site(), site()]
        const [a, b, c] = hosts.map((host) => question(host))
        if (a === undefined || b === undefined || c === undefined) return assert.fail()
        yield* at(-3_000)(add(a))
        yield* at(-2_000)(add(b))
        yield* at(-1_000)(add(c))
        assert.deepStrictEqual(questions(yield* at(-1_000)(claim(hosts, 10, 2))), [a, b])
        assert.deepStrictEqual(questions(yield* at(-1_000)(claim(hosts, 10, 2))), [c])
      }))

    it.effect("asks a site so many times in any minute, whatever its hosts; others go on", () =>
      Effect.gen(function*() {
        const name = site()
        const hosts = [name, `a.${name}`, `b.${name}`]
        const other = site()
        const mine = hosts.map((host) => question(host))
        const theirs = question(other)
        yield* Effect.forEach([...mine, theirs], (one) => at(5_000)(add(one)))
        const first = yield* at(5_000)(claim([...hosts, other], 2))
        assert.deepStrictEqual(questions(first), [...mine.slice(0, 2), theirs])
        yield* Effect.forEach(first, settle)
        assert.deepStrictEqual(yield* at(64_999)(claim(hosts, 2)), [])
        assert.deepStrictEqual(questions(yield* at(65_000)(claim(hosts, 2))), mine.slice(2))
      }))

    it.effect("counts questions that did not wait in the same minute", () =>
      Effect.gen(function*() {
        const name = site()
        const turn = (now: number) => at(now)(QuestionQueue.use((queue) => queue.turn(name, 2)))
        assert.deepStrictEqual([yield* turn(0), yield* turn(10_000), yield* turn(20_000)], [0, 0, 40_000])
        const one = question(name)
        yield* at(20_000)(add(one))
        assert.deepStrictEqual(yield* at(59_999)(claim([name], 2)), [])
        assert.deepStrictEqual(questions(yield* at(60_000)(claim([name], 2))), [one])
        assert.strictEqual(yield* turn(60_000), 10_000)
      }))

    it.effect("never asks more in a minute, however many ask at once", () =>
      Effect.gen(function*() {
        const name = site()
        yield* Effect.forEach(Array.from({ length: 20 }), () => add(question(name)), { concurrency: 5 })
        const rounds = yield* Effect.all(
          Array.from({ length: 6 }, (_, i) =>
            i % 2 === 0
              ? Effect.map(claim([name], 7), (claimed) => claimed.length)
              : Effect.map(
                QuestionQueue.use((queue) => queue.turn(name, 7)),
                (wait) => wait === 0 ? 1 : 0
              )),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(rounds.reduce((sum, count) => sum + count, 0), 7)
      }))

    it.effect("lets the last request about a topic and callback count", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const last: Question = { mode: "unsubscribe", wanted: one.wanted, verifyToken: "last" }
        yield* at(0)(add(one))
        yield* at(0)(add(last))
        assert.deepStrictEqual(questions(yield* at(0)(claim([host]))), [last])
      }))

    it.effect("follows a question that is being asked by the request that came meanwhile", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const last: Question = { mode: "unsubscribe", wanted: one.wanted }
        yield* at(0)(add(one))
        const [asked] = yield* at(0)(claim([host]))
        yield* at(1_000)(add(last))
        assert.deepStrictEqual(yield* at(1_000)(claim([host])), [])
        yield* at(2_000)(settle(asked ?? assert.fail()))
        assert.deepStrictEqual(questions(yield* at(2_000)(claim([host]))), [last])
      }))

    it.effect("asks again what somebody claimed who then died, and counts that as well", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        yield* at(0)(add(one))
        yield* at(0)(claim([host], 1))
        assert.deepStrictEqual(yield* at(claimedFor - 1)(claim([host], 1)), [])
        assert.deepStrictEqual(questions(yield* at(claimedFor)(claim([host], 1))), [one])
        assert.strictEqual(
          yield* at(claimedFor + 1)(QuestionQueue.use((queue) => queue.turn(host, 1))),
          59_999
        )
      }))

    it.effect("turns a refused subscription into a message to its callback, in its turn", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const deny = (asked: Asked | undefined, now: number) =>
          at(now)(QuestionQueue.use((queue) => queue.deny(asked ?? assert.fail(), "It's \"no\".")))
        yield* at(0)(add(one))
        const [asked] = yield* at(0)(claim([host], 1))
        yield* deny(asked, 1_000)
        assert.deepStrictEqual(yield* at(59_999)(claim([host], 1)), [])
        const told = yield* at(60_000)(claim([host], 1))
        assert.deepStrictEqual(questions(told), [{ mode: "denied", wanted: one.wanted, reason: "It's \"no\"." }])
        yield* Effect.forEach(told, settle)
        assert.strictEqual(yield* QuestionQueue.use((queue) => queue.holds(one.wanted)), false)
      }))

    it.effect("denies nothing that was asked for anew", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const again: Question = { mode: "subscribe", wanted: one.wanted, leaseSeconds: 100_000 }
        yield* at(0)(add(one))
        const [asked] = yield* at(0)(claim([host]))
        yield* add(again)
        yield* at(1_000)(QuestionQueue.use((queue) => queue.deny(asked ?? assert.fail(), "no")))
        assert.deepStrictEqual(questions(yield* at(1_000)(claim([host]))), [again])
      }))

    it.effect("holds what waits and what is being asked", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const holds = QuestionQueue.use((queue) => queue.holds(one.wanted))
        const before = yield* holds
        yield* at(0)(add(one))
        const waiting = yield* holds
        const [asked] = yield* at(0)(claim([host]))
        assert.deepStrictEqual([before, waiting, yield* holds], [false, true, true])
        yield* settle(asked ?? assert.fail())
        assert.strictEqual(yield* holds, false)
      }))

    it.effect("takes so many for a site, and a later request about one of them", () =>
      Effect.gen(function*() {
        const name = site()
        const one = question(name)
        yield* add(one)
        const others = Array.from({ length: maxWaiting.site - 1 }, () => question(`a.${name}`))
        yield* Effect.forEach(others, add, { concurrency: 10 })
        assert.strictEqual(yield* add(question(`b.${name}`)), "site-full")
        assert.strictEqual(yield* add({ mode: "unsubscribe", wanted: one.wanted }), "added")
        assert.strictEqual(yield* add(question(site())), "added")
      }))
  })
}
