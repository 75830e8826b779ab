import { assert, describe, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import {
  type ClaimedVerification,
  claimTimeMs,
  maxWaitingVerifications,
  quotaKeyOf,
  type Verification,
  type VerificationLane,
  VerificationQueue
} from "#domain/ports/VerificationQueue.ts"
import { at, type Stores, unique, wantedBy } from "#test/support/StoreFixture.ts"

const site = () => `${unique("site")}.example`

/** A request of the hub face, whose callback is on this host. */
const question = (host: string, mode: "subscribe" | "unsubscribe" = "subscribe"): Verification => {
  const wanted = wantedBy(0, { face: "hub", host, endpoint: `https://${host}/${unique("hook")}` })
  return mode === "subscribe" ? { mode, subscription: wanted, leaseSeconds: 864_000 } : { mode, subscription: wanted }
}

const add = (one: Verification, lane: VerificationLane = "new", origin = originOf(one.subscription.host)) =>
  VerificationQueue.use((queue) => queue.add(one, lane, origin))
/** The client and the target of a test: each site has its own ones, and `a.` and `b.` of a site share these. */
const originOf = (host: string) => {
  const name = host.replace(/^[ab]\./, "")
  return { asker: `asker of ${name}`, network: `network of ${name}`, target: name }
}
const settle = (asked: ClaimedVerification) => VerificationQueue.use((queue) => queue.settle(asked))

/** Those of these hosts whose turn has come: other tests share the queue. */
const claim = (hosts: ReadonlyArray<string>, perMinute = 10, limit = 500) => claimOf("new", hosts, perMinute, limit)

const claimOf = (lane: VerificationLane, hosts: ReadonlyArray<string>, perMinute: number | undefined, limit = 500) =>
  Effect.map(
    VerificationQueue.use((queue) => queue.claim({ lane, limit, perMinute })),
    (claimed) => claimed.filter(({ verification }) => hosts.includes(verification.subscription.host))
  )

const questions = (claimed: ReadonlyArray<ClaimedVerification>) => claimed.map(({ verification }) => verification)

export const questionQueueSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  describe("QuestionQueue", () => {
    it.effect("gives back every field of a question, to one who asks and no other", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const full: Verification = {
          mode: "subscribe",
          leaseSeconds: 86_400,
          verifyToken: "t\u0000ken é",
          subscription: { ...one.subscription, secret: "s\u{1f985}", signature: "sha384" }
        }
        assert.strictEqual(yield* at(1_000)(add(full)), "added")
        const claimed = yield* at(1_000)(claim([host]))
        assert.deepStrictEqual(questions(claimed), [full])
        assert.deepStrictEqual(yield* at(1_000)(claim([host])), [])
        yield* Effect.forEach(claimed, settle)
        assert.deepStrictEqual(yield* at(1e9)(claim([host])), [])
      }))

    it.effect("asks at once what a clock put off that was ahead, and takes its turns for none", () =>
      Effect.gen(function*() {
        const host = site()
        const [claimed, asked] = [question(host), question(host)]
        yield* at(1e10)(add(claimed))
        yield* at(1e10)(claim([host], 1))
        yield* at(1e10)(add(asked))
        const mine = Effect.map(claim([host], 1), questions)
        assert.deepStrictEqual(yield* at(2_000)(mine), [asked])
        assert.deepStrictEqual(yield* at(3_000)(mine), [])
        assert.deepStrictEqual(yield* at(62_000)(mine), [claimed])
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
        assert.deepStrictEqual(questions(first), [mine[0], theirs, mine[1]])
        yield* Effect.forEach(first, settle)
        assert.deepStrictEqual(yield* at(64_999)(claim(hosts, 2)), [])
        assert.deepStrictEqual(questions(yield* at(65_000)(claim(hosts, 2))), mine.slice(2))
      }))

    it.effect("counts questions that did not wait in the same minute", () =>
      Effect.gen(function*() {
        const name = site()
        const turn = (now: number) =>
          at(now)(VerificationQueue.use((queue) => queue.reserve({ site: name, target: name }, 2)))
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
                VerificationQueue.use((queue) => queue.reserve({ site: name, target: name }, 7)),
                (wait) => wait === 0 ? 1 : 0
              )),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(rounds.reduce((sum, count) => sum + count, 0), 7)
      }))

    it.effect("asks about one topic and callback in the order of the requests, one after the other settled", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const requests: ReadonlyArray<Verification> = [
          one,
          { mode: "unsubscribe", subscription: one.subscription },
          one,
          { mode: "subscribe", subscription: { ...one.subscription, secret: "another" }, leaseSeconds: 864_000 }
        ]
        yield* Effect.forEach(requests, (request) => at(0)(add(request)))
        const asked: Array<Verification> = []
        for (let i = 0; i < requests.length; i++) {
          const claimed = yield* at(i)(claim([host]))
          assert.strictEqual(claimed.length, 1)
          assert.deepStrictEqual(yield* at(i)(claim([host])), [])
          asked.push(...questions(claimed))
          yield* Effect.forEach(claimed, settle)
        }
        assert.deepStrictEqual(asked, requests)
        assert.deepStrictEqual(yield* at(9)(claim([host])), [])
      }))

    it.effect("adds nothing for a request that repeats the last one, unless that is being asked", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        yield* at(0)(add(one))
        assert.strictEqual(yield* at(1)(add(one)), "added")
        const first = yield* at(2)(claim([host]))
        assert.deepStrictEqual(questions(first), [one])
        yield* at(3)(add(one))
        yield* Effect.forEach(first, settle)
        const second = yield* at(4)(claim([host]))
        assert.deepStrictEqual(questions(second), [one])
        yield* Effect.forEach(second, settle)
        assert.strictEqual(yield* VerificationQueue.use((queue) => queue.contains(one.subscription)), false)
      }))

    it.effect("has room and turns for what stands that strangers cannot use up", () =>
      Effect.gen(function*() {
        const name = site()
        const full = Array.from({ length: maxWaitingVerifications.new.perQuota }, () => question(name))
        yield* Effect.forEach(full, (one) => at(0)(add(one)), { concurrency: 10 })
        yield* at(0)(claim([name], 2))
        const renewals = [question(name), question(name), question(name)]
        assert.strictEqual(yield* at(1)(add(question(name))), "site-full")
        for (const one of renewals) assert.strictEqual(yield* at(1)(add(one, "confirmed")), "added")
        const asked = yield* at(1)(claimOf("confirmed", [name], 2))
        assert.deepStrictEqual(questions(asked), renewals.slice(0, 2))
        const turn = (lane: VerificationLane) =>
          at(1)(
            VerificationQueue.use((queue) =>
              queue.reserve({ site: quotaKeyOf(lane, renewals[0]?.subscription ?? assert.fail()), target: name }, 3)
            )
          )
        assert.deepStrictEqual([yield* turn("confirmed"), yield* turn("confirmed")], [0, 60_000])
      }))

    it.effect("asks for an account as often as it wants, in the order that it wants", () =>
      Effect.gen(function*() {
        const host = site()
        const wanted = (accountId: number) => ({ ...question(host).subscription, accountId, face: "api" as const })
        const requests = Array.from(
          { length: 30 },
          (_, i): Verification => ({ mode: "unsubscribe", subscription: wanted(i % 2) })
        )
        yield* Effect.forEach(requests, (one) => at(0)(add(one, "api")))
        assert.deepStrictEqual(yield* at(0)(claim([host])), [])
        const asked = yield* at(0)(claimOf("api", [host], undefined))
        assert.deepStrictEqual(questions(asked), requests)
        yield* Effect.forEach(asked, settle)
      }))

    it.effect("gives each network of clients its turns, and bounds the questions of a network and to a target in flight", () =>
      Effect.gen(function*() {
        const [flood, target, host] = [unique("flood"), unique("target"), site()]
        const from = (network: string, at: string) => ({ asker: network, network, target: at })
        const hosts = Array.from({ length: 100 }, site)
        for (const [i, name] of hosts.entries()) {
          yield* at(0)(add(question(name), "new", from(flood, i < 20 ? target : name)))
        }
        const other = question(host)
        yield* at(1)(add(other, "new", from(unique("other"), host)))
        const first = questions(yield* at(1)(claim([...hosts, host], 10, 2)))
        // an odd time serves the newest first
        assert.deepStrictEqual(first.map(({ subscription }) => subscription.host), [hosts[99], host])
        const rounds: Array<number> = []
        const claimed: Array<string> = []
        for (let i = 0; i < 6; i++) {
          const more = questions(yield* at(2)(claim(hosts))).map(({ subscription }) => subscription.host)
          rounds.push(more.length)
          claimed.push(...more)
        }
        assert.strictEqual(rounds.reduce((sum, count) => sum + count, 1), 32)
        assert.strictEqual(claimed.filter((name) => hosts.indexOf(name) < 20).length, 10)
        assert.include(claimed, hosts[0])
        assert.include(claimed, hosts[98])
      }))

    it.effect("paces the questions to one resolved network, whatever the names under it", () =>
      Effect.gen(function*() {
        const target = unique("target")
        const reserve = (name: string) =>
          at(0)(VerificationQueue.use((queue) => queue.reserve({ site: name, target }, 1)))
        const waits = yield* Effect.forEach(Array.from({ length: 13 }, site), reserve)
        assert.deepStrictEqual(waits, [...waits.slice(1).map(() => 0), 60_000])
      }))

    it.effect("leaves room for others when one address fills the queue", () =>
      Effect.gen(function*() {
        const origin = { asker: unique("asker"), network: unique("network"), target: unique("target") }
        const lane = "confirmed" as const
        let count = 0
        for (let answer = "added"; answer === "added"; count++) {
          answer = yield* at(0)(add(question(site()), lane, origin))
        }
        assert.isBelow(count, maxWaitingVerifications.confirmed.perLane / 4)
        assert.strictEqual(yield* at(0)(add(question(site()), lane, { ...origin, asker: "another" })), "added")
        assert.strictEqual(yield* at(0)(add(question(site()), lane)), "added")
      }), 120_000)

    it.effect("asks again what somebody claimed who then died, and counts that as well", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        yield* at(0)(add(one))
        yield* at(0)(claim([host], 1))
        assert.deepStrictEqual(yield* at(claimTimeMs - 1)(claim([host], 1)), [])
        assert.deepStrictEqual(questions(yield* at(claimTimeMs)(claim([host], 1))), [one])
        assert.strictEqual(
          yield* at(claimTimeMs + 1)(VerificationQueue.use((queue) => queue.reserve({ site: host, target: host }, 1))),
          59_999
        )
      }))

    it.effect("turns a refused subscription into a message to its callback, in its turn", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const deny = (asked: ClaimedVerification | undefined, now: number) =>
          at(now)(VerificationQueue.use((queue) => queue.deny(asked ?? assert.fail(), "It's \"no\".")))
        yield* at(0)(add(one))
        const [asked] = yield* at(0)(claim([host], 1))
        yield* deny(asked, 1_000)
        assert.deepStrictEqual(yield* at(59_999)(claim([host], 1)), [])
        const told = yield* at(60_000)(claim([host], 1))
        assert.deepStrictEqual(questions(told), [{
          mode: "denied",
          subscription: one.subscription,
          reason: "It's \"no\"."
        }])
        yield* Effect.forEach(told, settle)
        assert.strictEqual(yield* VerificationQueue.use((queue) => queue.contains(one.subscription)), false)
      }))

    it.effect("denies nothing that was asked for anew", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const again: Verification = { mode: "subscribe", subscription: one.subscription, leaseSeconds: 100_000 }
        yield* at(0)(add(one))
        const [asked] = yield* at(0)(claim([host]))
        yield* at(1)(add(again))
        yield* at(1_000)(VerificationQueue.use((queue) => queue.deny(asked ?? assert.fail(), "no")))
        assert.deepStrictEqual(questions(yield* at(1_000)(claim([host]))), [again])
      }))

    it.effect("holds what waits and what is being asked", () =>
      Effect.gen(function*() {
        const host = site()
        const one = question(host)
        const holds = VerificationQueue.use((queue) => queue.contains(one.subscription))
        const before = yield* holds
        yield* at(0)(add(one))
        const waiting = yield* holds
        const [asked] = yield* at(0)(claim([host]))
        assert.deepStrictEqual([before, waiting, yield* holds], [false, true, true])
        yield* settle(asked ?? assert.fail())
        assert.strictEqual(yield* holds, false)
      }))

    it.effect("takes so many for a site, and about one topic and callback", () =>
      Effect.gen(function*() {
        const name = site()
        const one = question(name)
        const variants = Array.from(
          { length: maxWaitingVerifications.new.perSubscription + 1 },
          (_, i): Verification => ({
            mode: "unsubscribe",
            subscription: one.subscription,
            verifyToken: `${i}`
          })
        )
        const answers = yield* Effect.forEach(variants, (variant) => add(variant))
        assert.deepStrictEqual(answers, [...answers.slice(1).map(() => "added" as const), "site-full"])
        const others = Array.from({
          length: maxWaitingVerifications.new.perQuota - maxWaitingVerifications.new.perSubscription
        }, () => question(`a.${name}`))
        yield* Effect.forEach(others, (other) => add(other), { concurrency: 10 })
        assert.strictEqual(yield* add(question(`b.${name}`)), "site-full")
        assert.strictEqual(yield* add(question(site())), "added")
      }))
  })
}
