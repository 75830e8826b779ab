import { assert, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { BounceStore, type ResumedSubscription } from "#domain/ports/BounceStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import {
  at,
  entry,
  found,
  newSubscription,
  record,
  type Stores,
  subscribe,
  unique,
  wantedBy
} from "#test/support/StoreFixture.ts"

/** So many notifications each subscription of these tests was sent. */
const told = 6

/** A new XMPP subscription. */
const newTold = Effect.fnUntraced(function*(endpoint: string, host: string) {
  const made = yield* newSubscription({ channel: "xmpp", endpoint, host })
  const changes = Array.from({ length: told }, (_, i) => found(made.resource, [entry(`${i}`)]))
  yield* Effect.forEach(changes, record, { concurrency: "unbounded" })
  return made
})

/** One to a JID that nobody else has. */
const toJid = Effect.suspend(() => newTold(`${unique("ann")}@xmpp.test`, "xmpp.test"))

const bounce = (subscriptionId: number, sequence: number, severity: "lasting" | "passing" = "lasting") => ({
  subscriptionId,
  sequence,
  from: "ann@xmpp.test",
  severity,
  message: `bounced ${sequence}`
})

/** Nobody is tried while a test of another subscription looks. */
const never = 86_400_000

const listed = (accountId: number) =>
  SubscriptionStore.use((store) =>
    Effect.map(store.list({ accountId, page: 1, byPage: 10, counted: true }), ({ items }) => items)
  )

/** What every `BounceStore` keeps of its promises. */
export const bounceStoreSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("BounceStore", () => {
    it.effect("counts what comes back, shows it in the list, and logs it as try 0", () =>
      Effect.gen(function*() {
        const { record } = yield* BounceStore
        const { account, subscription } = yield* toJid
        assert.isUndefined((yield* listed(account.id))[0]?.bounces)
        yield* at(1_000)(record(bounce(subscription.id, 4)))
        yield* at(2_000)(record(bounce(subscription.id, 5, "passing")))
        const known = yield* at(3_000)(record(bounce(subscription.id, 6)))
        const expected = { count: 2, since: 1_000, sequence: 6, lastAt: 3_000, message: "bounced 6", trials: 0 }
        assert.deepStrictEqual(yield* at(4_000)(record(bounce(subscription.id, 6))), Option.none())
        assert.deepStrictEqual(Option.getOrUndefined(known), expected)
        assert.deepStrictEqual((yield* listed(account.id))[0]?.bounces, expected)
        const { items } = yield* (yield* DeliveryLog).list({ accountId: account.id, limit: 10 })
        const { endpoint, id, topic } = subscription
        assert.deepStrictEqual(
          items.map(({ id: _, ...one }) => one) as unknown,
          [6, 5, 4].map((sequence) => ({
            outcome: "bounced",
            subscriptionId: id,
            topic,
            endpoint,
            sequence,
            attempt: 0,
            code: 0,
            reason: "bounced",
            triedAt: (sequence - 3) * 1e3,
            message: `bounced ${sequence}`
          }))
        )
      }))

    it.effect("marks nothing of a subscription that is gone", () =>
      Effect.gen(function*() {
        const { pause, record } = yield* BounceStore
        const { account, subscription } = yield* toJid
        yield* SubscriptionStore.use((store) => store.remove(subscription.id))
        assert.deepStrictEqual(yield* record(bounce(subscription.id, 1)), Option.none())
        assert.isFalse(yield* pause(subscription.id, never))
        assert.deepStrictEqual(yield* (yield* DeliveryLog).list({ accountId: account.id, limit: 10 }), { items: [] })
      }))

    it.effect("counts no sequence that was never sent: nothing real could follow it", () =>
      Effect.gen(function*() {
        const { record } = yield* BounceStore
        const { account, subscription } = yield* toJid
        for (const sequence of [999_999_999_999_999, told + 1]) {
          assert.deepStrictEqual(yield* record(bounce(subscription.id, sequence)), Option.none())
        }
        assert.isUndefined((yield* listed(account.id))[0]?.bounces)
        assert.deepStrictEqual(yield* (yield* DeliveryLog).list({ accountId: account.id, limit: 10 }), { items: [] })
        yield* record(bounce(subscription.id, told))
        assert.strictEqual((yield* listed(account.id))[0]?.bounces?.sequence, told)
      }))

    it.effect("pauses once, and resumes all of a JID, as if nothing had come back", () =>
      Effect.gen(function*() {
        const { pause, record, resume } = yield* BounceStore
        const { account, resource, subscription } = yield* toJid
        const { channel, endpoint, host } = subscription
        const other = yield* subscribe(wantedBy(account.id, { channel, endpoint, host }))
        yield* record(bounce(subscription.id, 1))
        assert.isTrue(yield* pause(subscription.id, never))
        assert.isFalse(yield* pause(subscription.id, never))
        const states = Effect.map(listed(account.id), (items) => items.map(({ subscription: { state } }) => state))
        assert.deepStrictEqual(yield* states, ["paused", "active"])
        assert.deepStrictEqual(yield* resume("else@xmpp.test", 10), [])
        assert.deepStrictEqual(yield* resume(endpoint, 10), [
          { id: subscription.id, resourceId: resource.id, partition: resource.partition }
        ])
        assert.deepStrictEqual(yield* states, ["active", "active"])
        assert.deepStrictEqual((yield* listed(account.id)).map(({ bounces }) => bounces), [undefined, undefined])
        assert.isTrue(yield* pause(other.subscription.id, never))
      }))

    it.effect("resumes so many at once, the oldest first", () =>
      Effect.gen(function*() {
        const { pause, resume, resumeDomain } = yield* BounceStore
        const { account, subscription: { channel, endpoint, host, id } } = yield* toJid
        const [second, third] = [
          yield* subscribe(wantedBy(account.id, { channel, endpoint, host })),
          yield* subscribe(wantedBy(account.id, { channel, endpoint, host }))
        ]
        for (const one of [id, second.subscription.id, third.subscription.id]) yield* pause(one, never)
        const idsOf = Effect.map((resumed: ReadonlyArray<ResumedSubscription>) => resumed.map((one) => one.id))
        assert.deepStrictEqual(yield* idsOf(resume(endpoint, 1)), [id])
        assert.deepStrictEqual(yield* idsOf(resumeDomain(account.id, host, 1)), [second.subscription.id])
        assert.deepStrictEqual(yield* idsOf(resume(endpoint, 2)), [third.subscription.id])
      }))

    it.effect("starts trials when they are due, so many at once, and lets those be that are resumed meanwhile", () =>
      Effect.gen(function*() {
        const { pause, record, resume, startTrials } = yield* BounceStore
        const [late, first, resumed, second] = [yield* toJid, yield* toJid, yield* toJid, yield* toJid]
        const due = [[late, 4_000], [first, 1_000], [resumed, 1_500], [second, 2_000]] as const
        for (const [{ subscription }, trialAt] of due) {
          yield* record(bounce(subscription.id, 1))
          yield* pause(subscription.id, trialAt)
        }
        yield* resume(resumed.subscription.endpoint, 10)
        assert.deepStrictEqual(yield* at(999)(startTrials(10)), [])
        const { resource, subscription } = first
        assert.deepStrictEqual(yield* at(3_000)(startTrials(1)), [
          { id: subscription.id, resourceId: resource.id, partition: resource.partition }
        ])
        const started = yield* at(3_000)(startTrials(10))
        assert.deepStrictEqual(started.map(({ id }) => id), [second.subscription.id])
        assert.deepStrictEqual(yield* at(3_000)(startTrials(10)), [])
        yield* resume(late.subscription.endpoint, 10)
      }))

    it.effect("starts the trial at once that a clock planned which was ahead", () =>
      Effect.gen(function*() {
        const { pause, record, startTrials } = yield* BounceStore
        const { subscription: { id } } = yield* toJid
        yield* record(bounce(id, 1))
        yield* pause(id, 100 * 86_400_000)
        assert.include((yield* at(1_000)(startTrials(10))).map(({ id }) => id), id)
      }))

    it.effect("knows who is on trial, until the trial has arrived or they are paused again", () =>
      Effect.gen(function*() {
        const { endTrial, pause, record, startTrials, recordTrial } = yield* BounceStore
        const { account, subscription: { id } } = yield* toJid
        const standing = Effect.gen(function*() {
          const loaded = Option.getOrUndefined(yield* SubscriptionStore.use((store) => store.load(id)))
          const [item] = yield* listed(account.id)
          return [loaded?.state, loaded?.trial, item?.bounces?.trials]
        })
        yield* record(bounce(id, 1))
        assert.deepStrictEqual(yield* standing, ["active", undefined, 0])
        yield* pause(id, 1_000)
        assert.deepStrictEqual(yield* standing, ["paused", undefined, 0])
        yield* at(1_000)(startTrials(10))
        assert.deepStrictEqual(yield* standing, ["active", {}, 1])
        yield* recordTrial(id, { sequence: 2, until: 5_000 })
        assert.deepStrictEqual(yield* standing, ["active", { sent: { sequence: 2, until: 5_000 } }, 1])
        yield* record(bounce(id, 2))
        yield* endTrial(id, 2)
        assert.deepStrictEqual(yield* standing, ["active", {}, 1])
        yield* recordTrial(id, { sequence: 3, until: 6_000 })
        yield* pause(id, 2_000)
        assert.deepStrictEqual(yield* standing, ["paused", undefined, 1])
        yield* recordTrial(id, { sequence: 4, until: 7_000 })
        yield* endTrial(id, 4)
        assert.deepStrictEqual(yield* standing, ["paused", undefined, 1])
        yield* at(2_000)(startTrials(10))
        assert.deepStrictEqual(yield* standing, ["active", {}, 2])
        yield* endTrial(id, 3)
        assert.deepStrictEqual(yield* standing, ["active", undefined, undefined])
      }))

    it.effect("ends the trials of a JID, and of a domain, that is heard of", () =>
      Effect.gen(function*() {
        const { pause, record, resume, resumeDomain, startTrials, recordTrial } = yield* BounceStore
        const [byJid, byDomain, other] = [yield* toJid, yield* toJid, yield* toJid]
        for (const { subscription: { id } } of [byJid, byDomain, other]) {
          yield* record(bounce(id, 1))
          yield* pause(id, 1_000)
        }
        yield* at(1_000)(startTrials(10))
        yield* recordTrial(byJid.subscription.id, { sequence: 2, until: 5_000 })
        const idsOf = Effect.map((resumed: ReadonlyArray<ResumedSubscription>) => resumed.map((one) => one.id))
        assert.deepStrictEqual(yield* idsOf(resume(byJid.subscription.endpoint, 10)), [byJid.subscription.id])
        assert.deepStrictEqual(yield* idsOf(resume(byJid.subscription.endpoint, 10)), [])
        const { account, subscription: { host } } = byDomain
        assert.deepStrictEqual(yield* idsOf(resumeDomain(account.id, host, 10)), [byDomain.subscription.id])
        const trials = yield* Effect.forEach([byJid, byDomain, other], ({ account, subscription: { id } }) =>
          Effect.gen(function*() {
            const loaded = yield* SubscriptionStore.use((store) =>
              store.load(id)
            )
            return [Option.getOrUndefined(loaded)?.trial, (yield* listed(account.id))[0]?.bounces?.count]
          }))
        assert.deepStrictEqual(trials, [[undefined, undefined], [undefined, undefined], [{}, 1]])
        yield* resume(other.subscription.endpoint, 10)
      }))

    it.effect("ends the trial of what is subscribed again", () =>
      Effect.gen(function*() {
        const { pause, record, startTrials } = yield* BounceStore
        const { account, resource, subscription: { channel, endpoint, host, id, topic } } = yield* toJid
        yield* record(bounce(id, 1))
        yield* pause(id, 1_000)
        yield* at(1_000)(startTrials(10))
        const given = { given: topic, canonical: resource.url, host: resource.host }
        yield* subscribe(wantedBy(account.id, { channel, endpoint, host, topic: given }))
        const loaded = yield* SubscriptionStore.use((store) => store.load(id))
        assert.isTrue(Option.isSome(loaded) && loaded.value.trial === undefined && loaded.value.state === "active")
      }))

    it.effect("resumes all of a domain, of one account and of XMPP", () =>
      Effect.gen(function*() {
        const { pause, record, resumeDomain } = yield* BounceStore
        const host = `${unique("bots")}.test`
        const at = (endpoint: string) => newTold(endpoint, host)
        const { account, resource, subscription } = yield* at(`a@${host}`)
        const second = yield* subscribe(wantedBy(account.id, { channel: "xmpp", endpoint: `b@${host}`, host }))
        const [foreign, elsewhere] = [yield* at(`c@${host}`), yield* toJid]
        yield* record(bounce(subscription.id, 1))
        for (const one of [{ subscription }, second, foreign, elsewhere]) yield* pause(one.subscription.id, never)
        assert.deepStrictEqual(yield* resumeDomain(account.id, `else.${host}`, 10), [])
        assert.deepStrictEqual(yield* resumeDomain(account.id, host, 10), [
          { id: subscription.id, resourceId: resource.id, partition: resource.partition },
          { id: second.subscription.id, resourceId: second.resource.id, partition: second.resource.partition }
        ])
        assert.deepStrictEqual(
          (yield* listed(account.id)).map(({ bounces, subscription: { state } }) => [state, bounces]),
          [["active", undefined], ["active", undefined]]
        )
        assert.deepStrictEqual((yield* listed(foreign.account.id)).map(({ subscription: { state } }) => state), [
          "paused"
        ])
      }))

    it.effect("forgets what came back when it is subscribed again", () =>
      Effect.gen(function*() {
        const { pause, record } = yield* BounceStore
        const { account, resource, subscription } = yield* toJid
        yield* record(bounce(subscription.id, 1))
        yield* pause(subscription.id, never)
        const { channel, endpoint, host } = subscription
        const topic = { given: subscription.topic, canonical: resource.url, host: resource.host }
        yield* subscribe(wantedBy(account.id, { channel, endpoint, host, topic }))
        const [again] = yield* listed(account.id)
        assert.deepStrictEqual([again?.subscription.state, again?.bounces], ["active", undefined])
      }))
  })
}
