import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Pings } from "#domain/ports/Pings.ts"
import { engines } from "#test/support/Databases.ts"
import { newSubscription } from "#test/support/StoreFixture.ts"
import { storesSql } from "#test/support/StoresSql.ts"

const unchanged = { _tag: "Unchanged", code: 304 } as const

/** A waiting ping of a watched resource. */
const newPing = Effect.gen(function*() {
  const { account, resource } = yield* newSubscription()
  const ping = { accountId: account.id, topic: resource.url, canonical: resource.url, withContent: false }
  yield* Pings.use((pings) => pings.record(ping, 10))
  return { account, resource }
})

for (const engine of engines) {
  describe.skipIf(!engine.available)(`PingsSql, ${engine.name}`, () => {
    layer(Layer.provideMerge(storesSql, engine.layer), { excludeTestServices: true })((it) => {
      it.effect("stores outcomes in the background", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const pings = yield* Pings
          const { resource } = yield* newPing
          yield* pings.resolve(resource.id, Date.now(), unchanged)
          const waiting = sql<{ count: number }>`
            select count(*)::int4 as count from pings where resource_id = ${resource.id} and outcome is null`
          yield* Effect.repeat(waiting, {
            schedule: Schedule.spaced("10 millis"),
            until: ([row]) => row?.count === 0
          })
        }))

      it.effect("stores the outcome of a fetch that was faster than the record of its ping", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const pings = yield* Pings
          const { account, resource } = yield* newSubscription()
          const ping = { accountId: account.id, topic: resource.url, canonical: resource.url, withContent: false }
          yield* sql.unsafe(`create function delay_ping() returns trigger language plpgsql as
            $$ begin perform pg_sleep(0.3); return new; end $$`)
          yield* sql.unsafe(`create trigger delay_ping before insert on pings execute function delay_ping()`)
          const record = Effect.forkChild(pings.record(ping, 10), { startImmediately: true })
          const disconnected = yield* record
          disconnected.interruptUnsafe() // the publisher has gone, but its row comes
          yield* pings.resolve(resource.id, Date.now(), unchanged)
          const query = { accountId: account.id, limit: 10 }
          assert.deepStrictEqual((yield* pings.list(query)).map(({ outcome }) => outcome), [unchanged])
          yield* record
          yield* pings.resolve(resource.id, Date.now(), unchanged)
          assert.deepStrictEqual((yield* pings.list(query)).map(({ outcome }) => outcome), [unchanged, unchanged])
          yield* sql.unsafe(`drop trigger delay_ping on pings`)
        }))

      it.effect("lists pings while outcomes cannot be written", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const pings = yield* Pings
          const { account, resource } = yield* newPing
          yield* sql.unsafe(`create function refuse() returns trigger language plpgsql as
            $$ begin raise exception 'no space' using errcode = '53100'; end $$`)
          yield* sql.unsafe(`create trigger refuse before update on pings execute function refuse()`)
          yield* pings.resolve(resource.id, Date.now(), unchanged)
          const query = { accountId: account.id, limit: 10 }
          assert.deepStrictEqual((yield* pings.list(query)).map(({ outcome }) => outcome), [undefined])
          yield* sql.unsafe(`drop trigger refuse on pings`)
          assert.deepStrictEqual((yield* pings.list(query)).map(({ outcome }) => outcome), [unchanged])
        }))
    })
  })
}
