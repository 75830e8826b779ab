import { assert, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import type { Event } from "#domain/Event.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import {
  at,
  newAccount,
  newOperator,
  newSubscription,
  type Stores,
  subscribe,
  wantedBy
} from "#test/support/StoreFixture.ts"

const failing = (accountId: number, hours: 1 | 24 = 1): Event => ({
  type: "subscription.failing",
  accountId,
  subscriptionId: 7,
  topic: "https://feed.example/",
  endpoint: "https://hook.example/",
  code: 503,
  message: "Service Unavailable",
  failingSince: 1_700_000_000_000,
  hours
})

/** Promises of every `EventLog`. */
export const eventLogSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  it.describe("EventLog", () => {
    it.effect("shows an event to its account and the operators, oldest first, behind an id", () =>
      Effect.gen(function*() {
        const { flush, publish, readAfter, readNewest } = yield* EventLog
        const [mine, other] = [yield* newAccount, yield* newAccount]
        yield* at(1_000)(publish(failing(mine.id)))
        yield* at(2_000)(publish(failing(mine.id, 24)))
        yield* flush
        const events = yield* readAfter(mine.id, 0, 10)
        assert.deepStrictEqual(events.map(({ event }) => event), [failing(mine.id), failing(mine.id, 24)])
        assert.deepStrictEqual(yield* readAfter(mine.id, events[0]?.id ?? 0, 10), events.slice(1))
        assert.deepStrictEqual(yield* readAfter(mine.id, 0, 1), events.slice(0, 1))
        assert.deepStrictEqual(yield* readAfter(other.id, 0, 10), [])
        const operator = yield* newOperator
        const all = yield* readNewest(operator.id, 100)
        assert.deepStrictEqual(
          all.filter(({ event }) => "accountId" in event && event.accountId === mine.id).map(({ event }) => event),
          events.map(({ event }) => event)
        )
        assert.deepStrictEqual(yield* readNewest(mine.id, 1), events.slice(1))
        assert.deepStrictEqual(yield* readNewest(mine.id, 10), events)
        assert.deepStrictEqual(events.map((event) => event.at), [1_000, 2_000])
      }))

    it.effect("shows an event of a resource to the accounts of its subscriptions, once", () =>
      Effect.gen(function*() {
        const { flush, publish, readAfter } = yield* EventLog
        const { resource, subscription } = yield* newSubscription()
        yield* subscribe(
          wantedBy(subscription.accountId, {
            topic: { given: resource.url, canonical: resource.url, host: resource.host },
            endpoint: "https://b.example/"
          })
        )
        const event: Event = {
          type: "resource.moved",
          resourceId: resource.id,
          topic: resource.url,
          to: "https://new.example/"
        }
        yield* publish(event)
        yield* flush
        assert.deepStrictEqual((yield* readAfter(subscription.accountId, 0, 10)).map((one) => one.event), [event])
      }))
  })
}
