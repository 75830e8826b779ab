import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Event } from "#domain/Event.ts"
import { eventsTopicOf } from "#domain/EventsTopic.ts"
import { EventLog, EventsBaseUrl } from "#domain/ports/EventLog.ts"
import * as EventLogSql from "#layers/sql/EventLogSql.ts"
import { engines } from "#test/support/Databases.ts"
import { newAccount, newOperator, newSubscription, unique } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const failing = (accountId: number, topic: string, endpoint = "https://dead.example/hook"): Event => ({
  type: "subscription.failing",
  accountId,
  subscriptionId: 7,
  topic,
  endpoint,
  code: 0,
  message: "No answer.",
  failingSince: 1_000,
  hours: 1
})

const typesOf = (events: ReadonlyArray<{ readonly event: Event }>) => events.map(({ event }) => event.type)

for (const engine of engines) {
  describe.skipIf(!engine.available)(`floods of events, ${engine.name}`, () => {
    const stores = Layer.provide(storesSql, Layer.succeed(EventsBaseUrl, "https://hub.example"))
    layer(Layer.provideMerge(stores, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("of 9,000 subscriptions on a dead host are 20 events and an aggregate in each log", () =>
        Effect.gen(function*() {
          const account = yield* newAccount
          const operator = yield* newOperator
          yield* Effect.scoped(
            Effect.gen(function*() {
              const { publish } = yield* EventLog
              for (let i = 0; i < 9_000; i++) yield* publish(failing(account.id, `https://a.example/${i}`))
            }).pipe(Effect.provide(Layer.fresh(EventLogSql.layer)))
          )
          const { readAfter } = yield* EventLog
          for (const { id } of [account, operator]) {
            const events = (yield* readAfter(id, 0, 100)).map(({ event }) => event)
            assert.strictEqual(events.length, 21)
            const [omitted] = events.filter((event) => event.type === "events.omitted")
            assert.strictEqual(omitted?.count, 8_980)
            assert.strictEqual(omitted?.omittedType, "subscription.failing")
            assert.strictEqual(omitted?.accountId, id === account.id ? id : undefined)
          }
        }))

      it.effect("never come of subscriptions to events", () =>
        Effect.gen(function*() {
          const { flush, publish, readAfter } = yield* EventLog
          const account = yield* newAccount
          for (const topic of ["https://hub.example/events", "https://HUB.example/events/"]) {
            yield* publish(failing(account.id, topic))
          }
          yield* publish(failing(account.id, "https://hub.example/other"))
          yield* publish(failing(account.id, "no URL"))
          yield* flush
          assert.deepStrictEqual(typesOf(yield* readAfter(account.id, 0, 10)), [
            "subscription.failing",
            "subscription.failing"
          ])
        }))

      it.effect("leave the newest 1,000 events in the log of an account", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const account = yield* newAccount
          yield* sql.unsafe(
            `insert into events (account_id, at, event) select $1::int4, now(), $2 from generate_series(1, 1500)`,
            [account.id, JSON.stringify({ type: "hub.lost", hub: "https://hub.example/", message: "old" })]
          )
          const { flush, publish, readAfter } = yield* EventLog
          const ended = { type: "subscription.ended", reason: "gone" } as const
          for (let i = 0; i < 20; i++) {
            const event = failing(account.id, `https://a.example/${i}`)
            yield* publish(event)
            yield* publish({ ...event, type: "subscription.paused" } as Event)
            yield* publish({ ...event, type: "subscription.recovered" } as Event)
            yield* publish({ ...event, ...ended } as Event)
            yield* publish({ type: "account.out_of_allowance", accountId: account.id, credits: -1 })
          }
          yield* flush
          const left = yield* readAfter(account.id, 0, 2_000)
          assert.strictEqual(left.length, 1_000)
          assert.deepStrictEqual(typesOf(left).filter((type) => type === "hub.lost").length, 920)
        }))

      it.effect("of an allowance come only of an account that was credited", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const { flush, publish, readAfter } = yield* EventLog
          const [never, credited] = [yield* newAccount, yield* newAccount]
          yield* sql`insert into credit_ledger (account_id, kind, bucket, delta) values (${credited.id}, 1, now(), 100)`
          for (const { id } of [never, credited]) {
            yield* publish({ type: "account.out_of_allowance", accountId: id, credits: -1 })
          }
          yield* flush
          assert.deepStrictEqual(typesOf(yield* readAfter(never.id, 0, 10)), [])
          assert.deepStrictEqual(typesOf(yield* readAfter(credited.id, 0, 10)), ["account.out_of_allowance"])
        }))

      it.effect("wake the watched resources of their logs only", () =>
        Effect.gen(function*() {
          const account = yield* newAccount
          const operator = yield* newOperator
          const subscribeTo = ({ id }: { readonly id: number }, accountId: number) =>
            newSubscription({
              accountId,
              topic: { given: "https://hub.example/events", canonical: eventsTopicOf(id), host: unique("events") }
            })
          const mine = yield* subscribeTo(account, account.id)
          const all = yield* subscribeTo(operator, operator.id)
          const other = yield* newAccount
          yield* subscribeTo(other, other.id)
          const woken = yield* Effect.scoped(
            Effect.gen(function*() {
              const { flush, publish, watched } = yield* EventLog
              yield* publish(failing(account.id, "https://a.example/"))
              yield* flush
              const first = yield* watched
              yield* publish({ type: "hub.lost", hub: "https://hub.example/", message: "" })
              yield* flush
              return [first, yield* watched]
            }).pipe(Effect.provide(Layer.fresh(EventLogSql.layer)))
          )
          const ids = woken.map((found) => found.map(({ resourceId }) => resourceId).toSorted((a, b) => a - b))
          assert.deepStrictEqual(ids, [[mine.resource.id, all.resource.id], [all.resource.id]])
        }))
    })
  })
}
